"""Users: the file, passwords, what is remembered, and who has to wait."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter

import pytest
from argon2 import PasswordHasher, Type
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from accelerator.cli.main import main
from accelerator.errors import ConfigError
from accelerator.gateway.access.errors import TooManyAttemptsError
from accelerator.gateway.access.login import passwords, users
from accelerator.gateway.access.login.backoff import Backoff
from accelerator.gateway.access.login.users import User, Users
from accelerator.gateway.access.name_patterns import Glob, broad, narrow

CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


def _toml(**named):
    return "\n".join(
        f'[users.{name}]\npassword = "{CHEAP.hash(word)}"\nroles = ["r"]\ngroups = ["g", "h"]'
        for name, word in named.items()
    )


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "users.toml"
    path.write_text(_toml(alice="wonder", bob="builder"))
    path.chmod(0o600)
    return path


@pytest.fixture
def computed(monkeypatch):
    """How often which hash was compared."""
    counts = Counter()
    right = passwords.matches

    def matches(stored, password):
        counts[stored] += 1
        return right(stored, password)

    monkeypatch.setattr(users.passwords, "matches", matches)
    monkeypatch.setattr(users.passwords, "nobodys", lambda: "nobody's")
    return counts


def test_right_and_wrong_passwords(file):
    known = Users.load(file)
    assert known.verify("alice", "wonder") == User("alice", frozenset("r"), frozenset("gh"))
    for name, word in [("alice", "builder"), ("Alice", "wonder"), ("alice", ""), ("", "wonder")]:
        assert known.verify(name, word) is None
    assert known.verify("alice", "\ud800") is None
    assert known.verify("alice", "x" * 10_000_000) is None
    assert len(known) == 2
    assert known.named("bob").name == "bob"
    assert known.named("eve") is None


def test_an_unknown_name_costs_the_same_and_a_right_password_once(file, computed):
    clock = Clock()
    known = Users(file, clock)
    for _ in range(3):
        assert known.verify("eve", "x") is None
    assert computed == {"nobody's": 3}
    for _ in range(3):
        assert known.verify("alice", "wonder")
    assert computed.total() == 4
    clock.now += 301
    assert known.verify("alice", "wonder")
    assert computed.total() == 5


def test_what_is_remembered_is_bounded_and_tells_no_password(file, monkeypatch):
    monkeypatch.setattr(users, "_KNOWN_MAX", 1)
    known = Users.load(file)
    known.verify("alice", "wonder")
    known.verify("bob", "builder")
    assert len(known._known) == 1
    assert all("builder" not in repr(one) for one in vars(known).values())


def test_checks_that_run_at_once_ask_each_password_once(file, computed):
    async def scenario():
        known = Users.load(file)
        found = await asyncio.gather(*(known.check("alice", "wonder", "::1") for _ in range(50)))
        assert all(one is not None and one.name == "alice" for one in found)
        assert computed.total() == 1
        assert await known.check("alice", "wonder", "::1")
        assert computed.total() == 1
        known.close()

    asyncio.run(scenario())


def test_a_flood_takes_two_threads_and_leaves_the_loop_alone(file, monkeypatch):
    gate, running, most, lock = threading.Event(), 0, 0, threading.Lock()

    def matches(stored, password):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(10)
        with lock:
            running -= 1
        return False

    async def scenario():
        known = Users.load(file)
        monkeypatch.setattr(users.passwords, "matches", matches)
        asked = [
            asyncio.ensure_future(known.check("alice", str(n), f"10.0.0.{n}")) for n in range(200)
        ]
        await asyncio.sleep(0)
        refused = [one for one in asked if one.done()]
        assert len(refused) == 200 - users._WAITING_MAX
        gate.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert sum(isinstance(one, TooManyAttemptsError) for one in found) == len(refused)
        assert most <= 2
        assert not known._running
        assert not known._waiting
        known.close()

    asyncio.run(scenario())


def test_one_address_cannot_take_all_places(file, monkeypatch):
    gate = threading.Event()

    async def scenario():
        known = Users.load(file)
        monkeypatch.setattr(users.passwords, "matches", lambda *_: gate.wait(10) and False)
        asked = [asyncio.ensure_future(known.check("x", str(n), "1.2.3.4")) for n in range(40)]
        await asyncio.sleep(0)
        other = asyncio.ensure_future(known.check("alice", "x", "4.3.2.1"))
        await asyncio.sleep(0)
        assert not other.done()
        assert sum(one.done() for one in asked) == 40 - users._WAITING_OF_ADDRESS_MAX
        gate.set()
        await asyncio.gather(other, *asked, return_exceptions=True)
        known.close()

    asyncio.run(scenario())


def test_who_leaves_leaves_nothing_behind(file):
    async def scenario():
        known = Users.load(file)
        task = asyncio.ensure_future(known.check("alice", "wonder"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await known.check("alice", "wonder")
        await asyncio.sleep(0)  # an answer that was there already is given before its callbacks run
        assert not known._running
        known.close()

    asyncio.run(scenario())


def test_wrong_passwords_make_wait_and_the_right_one_of_late_does_not(file):
    async def scenario():
        clock = Clock()
        known = Users(file, clock)
        assert await known.check("alice", "wonder", "1.1.1.1")
        for _ in range(3):
            assert await known.check("alice", "x", "1.1.1.1") is None
        with pytest.raises(TooManyAttemptsError) as raised:
            await known.check("alice", "y", "1.1.1.1")
        assert raised.value.retry_after_s == pytest.approx(1)
        assert await known.check("alice", "wonder", "1.1.1.1")
        assert await known.check("bob", "builder", "1.1.1.1")
        assert await known.check("alice", "x", "2.2.2.2") is None
        clock.now += 1
        assert await known.check("alice", "y", "1.1.1.1") is None
        with pytest.raises(TooManyAttemptsError) as raised:
            await known.check("alice", "y", "1.1.1.1")
        assert raised.value.retry_after_s == pytest.approx(2)
        clock.now += 1000
        assert await known.check("alice", "y", "1.1.1.1") is None
        known.close()

    asyncio.run(scenario())


def test_addresses_wait_too_and_networks_are_one():
    clock = Clock()
    waits = Backoff(clock)
    for number in range(20):
        waits.failed(f"u{number}", f"2001:db8::{number + 1:x}")
    assert waits.wait_s("new", "2001:db8::ffff") == 1
    assert waits.wait_s("new", "2001:db8:0:1::1") == 0
    for number in range(40):
        waits.failed("alice", f"9.9.{number}.1")
    assert waits.wait_s("alice", "8.8.8.8") == 60
    waits.succeeded("alice", "8.8.8.8")
    assert waits.wait_s("alice", "8.8.8.8") == 60


def test_an_own_account_clears_no_count_of_an_address():
    waits = Backoff(Clock())
    for number in range(25):
        waits.failed(f"u{number}", "::ffff:1.2.3.4")
        waits.succeeded("own", "1.2.3.4")
    assert waits.wait_s("u99", "1.2.3.4") > 0


def test_counts_are_bounded():
    waits = Backoff(Clock())
    for number in range(12_000):
        waits.failed(str(number), "1.2.3.4")
    assert len(waits._failed) <= 10_000
    assert waits.wait_s("x", "1.2.3.4") == 60


def test_the_file_is_read_again_and_a_broken_one_changes_nothing(file):
    known = Users.load(file)
    assert known.verify("alice", "wonder")
    assert not known.reloaded().changed
    file.write_text("[users.alice")
    found = known.reloaded()
    assert not found.changed
    assert "TOML" in found.error.message
    assert known.error is found.error
    assert known.reloaded().error is None  # told once
    assert known.verify("alice", "wonder")
    file.write_text(_toml(alice="other"))
    assert known.reloaded().changed
    assert known.error is None
    assert known.verify("alice", "wonder") is None
    assert known.verify("alice", "other")
    assert known.verify("bob", "builder") is None
    file.unlink()
    assert known.reloaded().error is not None
    assert known.verify("alice", "other")


def test_a_user_who_goes_while_a_check_runs_is_refused(file, monkeypatch):
    started, gate = threading.Event(), threading.Event()

    def matches(*_):
        started.set()
        return gate.wait(10)

    async def scenario():
        known = Users.load(file)
        monkeypatch.setattr(users.passwords, "matches", matches)
        asked = asyncio.ensure_future(known.check("alice", "x"))
        await asyncio.to_thread(started.wait, 10)
        file.write_text(_toml(bob="x"))
        assert known.reloaded().changed
        gate.set()
        assert await asked is None
        known.close()

    asyncio.run(scenario())


def test_a_file_that_others_read_is_warned_of(file):
    assert Users.load(file).warning == ""
    for mode in (0o640, 0o604, 0o620):
        os.chmod(file, mode)  # noqa: PTH101
        assert "chmod 600" in Users.load(file).warning


GOOD = CHEAP.hash("x")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[user.a]", "did you mean users"),
        ("users = 1", "must be a table"),
        ("[users]\na = 1", "users.a: it must be a table"),
        ("[users.a]", "password: it must be a text"),
        ("[users.a]\npassword = 'x'", "argon2"),
        (f"[users.a]\npassword = '{GOOD}'\nrole = ['x']", "did you mean roles"),
        (f"[users.a]\npassword = '{GOOD}'\nroles = 'x'", "list of texts"),
        (f"[users.a]\npassword = '{GOOD}'\nroles = [1]", "must be a text"),
        (f"[users.a]\npassword = '{GOOD}'\nroles = ['\\u0007']".replace("'", '"'), "controls"),
        (f"[users.\"a:b\"]\npassword = '{GOOD}'", "can't be a user's name"),
        (f"[users.\"a*\"]\npassword = '{GOOD}'", "can't be a user's name"),
        (f"[users.\"a\\n\"]\npassword = '{GOOD}'", "can't be a user's name"),
        (f"[users.a]\npassword = '{GOOD.replace('m=8', 'm=99999999')}'", "KiB of memory"),
        (f"[users.a]\npassword = '{GOOD.replace('t=1', 't=9999')}'", "rounds"),
        (f"[users.a]\npassword = '{GOOD.replace('argon2id', 'argon2i')}'", "argon2id"),
        ("\x00", "TOML"),
    ],
)
def test_what_is_wrong_in_the_file_is_told(tmp_path, text, said):
    path = tmp_path / "users.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as raised:
        Users.load(path)
    assert said in str(raised.value)
    assert str(path) in str(raised.value)


def test_a_file_that_is_not_there_or_too_large(tmp_path):
    with pytest.raises(ConfigError, match="can't be read"):
        Users.load(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match="can't be read"):
        Users.load(tmp_path)
    large = tmp_path / "large.toml"
    with large.open("wb") as file:
        file.truncate(9 * 1024 * 1024)
    with pytest.raises(ConfigError, match="larger than"):
        Users.load(large)


@pytest.mark.served
def test_the_command_hashes_and_shows_nothing():
    asked = CliRunner().invoke(main, ["password"], input="wonder\nwonder\n")
    assert asked.exit_code == 0
    assert "wonder" not in asked.output
    read = CliRunner().invoke(main, ["password", "--stdin"], input="wonder\r\nmore\n")
    for made in (asked.stdout, read.stdout):
        stored = made.strip().splitlines()[-1]
        passwords.check_hash(stored)
        assert passwords.matches(stored, "wonder")
        assert PasswordHasher().check_needs_rehash(stored) is False
    differing = CliRunner().invoke(main, ["password"], input="a\nb\n")
    assert differing.exit_code != 0


@pytest.mark.parametrize("given", ["", "\n", "x" * 1025])
def test_the_command_refuses_what_is_no_password(given):
    found = CliRunner().invoke(main, ["password", "--stdin"], input=given)
    assert found.exit_code == 1
    assert "1 to 1024 bytes" in found.output
    assert not found.stdout


def test_another_kind_of_argon2_is_refused():
    with pytest.raises(ConfigError, match="argon2id"):
        passwords.check_hash(PasswordHasher(1, 8, 1, type=Type.D).hash("x"))


@given(st.text(alphabet="ab*", max_size=8), st.text(alphabet="ab", max_size=8))
def test_a_glob_is_its_pattern(pattern, text):
    import re

    meant = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text) is not None
    assert Glob.exact(pattern).matches(text) == Glob.of(pattern).matches(text) == meant
    assert Glob.of(pattern, broadly=True).matches(text) == meant


@given(st.text(max_size=6), st.text(max_size=6))
def test_what_is_alike_narrowly_is_alike_broadly(one, other):
    if narrow(one) == narrow(other):
        assert broad(one) == broad(other)
    assert broad(broad(one)) == broad(one)
    for fold in (str.lower, str.upper, str.casefold, str.swapcase):
        assert broad(fold(one)) == broad(one)
