"""Suites of statements, `tests/statements/*.slt`: read, run in process, and written anew.

A suite names a world (`tests/worlds/NAME.sql`), makes cubes and indexes over it, and lists
statements, each with what is to answer it. Plain Spark's answer comes from the records. Promises:
a line that isn't understood is an error with its number; `accept` changes expectations alone.

    world stars                  the tables
    states made changed          where statements are asked; without it, at all states of the world
    session engine=spark         settings of the session
    execute [at STATE]           made at the first of `states`, or at any state of the world
    query cube                   what answers: cube, index, manifest, rows; `plain CODE` by Spark
    query rows CODE              all rows of all files, in process, since nothing spares any
    query cube | changed: rows   another at a state; `query made: cube` is asked at no other
    query by spark cube          asked of `sql` as well
    query files index 2 of 9     with the number of data files that are read
    error CONDITION              plain Spark raises that, and so does the session
    refused CODE                 a statement of ours that raises an error of that code

    python -m tests.support.statements tests/statements/traps.slt[:LINE] [--accept] [--spark]
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from accelerator.errors import AcceleratorError
from accelerator.query.results.result import Result
from accelerator.services.verification.compare import differ
from accelerator.session.session import Accelerator
from tests.support import oracle
from tests.support.at_once import told_at_once
from tests.support.warehouse import recorded_warehouse
from tests.support.worlds import World, WorldError

FOLDER = Path(__file__).parents[1] / "statements"
_HEADS = ("world", "states", "session", "execute", "query", "error", "refused")
_FAILED_INSIDE = ("engine_failed", "planning_failed", "metadata_unavailable", "index_unreadable")
_SAID = 160
_BY_SPARK, _FILES, _ERROR = "by spark ", "files ", "error "


class SuiteError(ValueError):
    """A suite that can't be read; the message has file and line."""


@dataclass(frozen=True, slots=True)
class Block:
    """A head and the text beneath it.

    `expected` is by state, `""` for all others; without that it's asked at those states alone.
    """

    kind: str
    line: int
    text: str
    title: str = ""
    expected: tuple[tuple[str, str], ...] = ()
    at: str = ""
    by_spark: bool = False
    files: bool = False

    @property
    def flags(self) -> str:
        """The words before what is expected."""
        return f"{_BY_SPARK * self.by_spark}{_FILES * self.files}"

    @property
    def named(self) -> list[str]:
        """The states that it names."""
        return [state for state in (self.at, *dict(self.expected)) if state]

    def expectation(self, state: str) -> str:
        """What is to answer it at that state; nothing where it isn't asked."""
        found = dict(self.expected)
        return found.get(state, found.get("", ""))


@dataclass(frozen=True, slots=True)
class Suite:
    """A file of statements over one world."""

    path: Path
    world: str
    states: tuple[str, ...]
    settings: tuple[tuple[str, str], ...]
    blocks: tuple[Block, ...]

    @property
    def asked(self) -> list[Block]:
        """What is asked, in its order."""
        return [block for block in self.blocks if block.kind != "execute"]


def read(path: Path) -> Suite:
    """The suite; SuiteError where a line isn't understood."""
    world, states, blocks = "", (), []
    settings: list[tuple[str, str]] = []
    for line, comments, lines in _paragraphs(path):
        head, *rest = lines
        word, _, told = head.partition(" ")
        where = f"{path.name}:{line}"
        if word not in _HEADS:
            raise SuiteError(f"{where}: {word!r} isn't one of {', '.join(_HEADS)}")
        if word in ("world", "states", "session"):
            if rest:
                raise SuiteError(f"{where}: a blank line is missing below {head!r}")
            if word == "session":
                settings += [_pair(one, where) for one in told.split()]
            elif word == "world":
                world = told.strip()
            else:
                states = tuple(told.split())
            continue
        if not rest:
            raise SuiteError(f"{where}: no statement stands below {head!r}")
        blocks.append(_block(word, told, line, "\n".join(rest), comments, where))
    if not world:
        raise SuiteError(f"{path.name}: no line names the world, as `world stars` does")
    return Suite(path, world, states, tuple(settings), tuple(blocks))


def _block(word: str, told: str, line: int, text: str, title: str, where: str) -> Block:
    if word == "execute":
        at = told.removeprefix("at ").strip()
        if told and not told.startswith("at "):
            raise SuiteError(f"{where}: `execute at STATE`, not {told!r}")
        return Block(word, line, text, title, at=at)
    by_spark = told.startswith(_BY_SPARK)
    told = told.removeprefix(_BY_SPARK)
    files = told.startswith(_FILES)
    expected = []
    for part in told.removeprefix(_FILES).split(" | "):
        state, found, what = part.partition(":")
        expected.append((state.strip(), what.strip()) if found else ("", part.strip()))
    if not all(what for _, what in expected):
        raise SuiteError(f"{where}: {word} doesn't say what answers")
    return Block(word, line, text, title, tuple(expected), by_spark=by_spark, files=files)


def _paragraphs(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """Number of the first line, the comments above, and the lines between two blank ones."""
    title, lines, start = "", [], 0
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if not line.strip():
            if lines:
                yield start, title, lines
            title, lines = "", []
        elif not lines and line.startswith("#"):
            title = line.lstrip("# ").strip()
        else:
            start = start if lines else number
            lines.append(line)


def _pair(text: str, where: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise SuiteError(f"{where}: a setting is NAME=VALUE, not {text!r}")
    return name, value


class Run:
    """A suite as it runs: over its world, state by state, in one session."""

    def __init__(self, suite: Suite, *, by_spark: bool = False) -> None:
        self.suite, self._by_spark = suite, by_spark
        self._ends = ExitStack()
        over = recorded_warehouse(f"world-{suite.world}", f"statements-{suite.path.stem}")
        self.warehouse = self._ends.enter_context(over)
        try:
            self._world = World(suite.world, self.warehouse)
            self._all = tuple(self._world.states)
            self.states = suite.states or self._all
            self.state = ""
            self._check_states()
            store = self._ends.enter_context(tempfile.TemporaryDirectory(prefix="store-"))
            settings = dict(suite.settings) | {"store": store}
            self.session: Accelerator = self.warehouse.attach(**settings)
            self._ends.callback(self.session.close)
        except BaseException:
            self._ends.close()
            raise

    def close(self) -> None:
        """Ends the session and frees the world."""
        self._ends.close()

    def go_to(self, state: str) -> None:
        """Makes the world and what is built over it what they are at that state."""
        if state not in self.states:
            raise SuiteError(f"{self.suite.path.name}: the world has no state {state!r}")
        while self.state != state:
            place = self._all.index(self.state) + 1 if self.state else 0
            if place >= len(self._all):
                raise SuiteError(f"{self.suite.path.name}: {state!r} is behind {self.state!r}")
            self._enter(self._all[place])

    def _check_states(self) -> None:
        """Every state that the suite names is one of its world's."""
        name, known = self.suite.path.name, ", ".join(self._all)
        named = [(f"{name}:{b.line}", s) for b in self.suite.blocks for s in b.named]
        for where, state in [*((name, one) for one in self.states), *named]:
            if state not in self._all:
                raise SuiteError(f"{where}: the world has no state {state!r}: {known}")

    def _enter(self, state: str) -> None:
        """The world, and what is built at that state, whether or not anything is asked there."""
        self._world.go_to(state)
        self.state = state
        for block in self.suite.blocks:
            if block.kind == "execute" and state == (block.at or self.states[0]):
                try:
                    self.session.query(block.text)
                except (AcceleratorError, PySparkException) as error:
                    where = f"{self.suite.path.name}:{block.line}"
                    raise WorldError(f"{where} fails at {state}: {error}\n{block.text}") from error

    def ask(self, block: Block) -> tuple[str, list[str]]:
        """What answers the statement now, and what differs from plain Spark's answer."""
        session, sql = self.session, block.text
        if block.kind == "refused":
            return self._refused(sql)
        before = dict(session.fallbacks)
        try:
            plain = session.services.plain_table(sql)
        except (PySparkException, Py4JError) as error:
            return self._raised(block, error)
        try:
            answer = session.query(sql)
            table = answer.arrow()
        except (AcceleratorError, PySparkException, Py4JError) as error:
            return f"error {_condition(error)}", [f"plain Spark answers: {_shown(error)}"]
        found = differ(table, plain) + oracle.disagreements(session, sql)
        refused = told_at_once(session.services.lake, sql)
        found += [] if refused is None else [f"told at once: {refused}"]
        told = source(answer, files=block.files)
        if block.by_spark or self._by_spark:
            found += [f"by Spark: {d}" for d in differ(session.sql(sql).toArrow(), plain)]
        failed = {k: n for k, n in session.fallbacks.items() if n != before.get(k, 0)}
        if failed and not told.startswith("plain "):
            found.append(f"failed inside: {failed}")
        return told, found

    def _refused(self, sql: str) -> tuple[str, list[str]]:
        try:
            self.session.query(sql)
        except AcceleratorError as error:
            return _condition(error), []
        return "nothing", ["it isn't refused"]

    def _raised(self, block: Block, plain: Exception) -> tuple[str, list[str]]:
        sql, expected, wrong = block.text, _condition(plain), []
        told = told_at_once(self.session.services.lake, sql)
        if told is not None and told.error_class != expected:
            wrong.append(f"told at once as {told.error_class}, not {expected}")
        for name, run in (("query", self.session.query), ("sql", self.session.sql)):
            try:
                run(sql).toArrow() if name == "sql" else run(sql).arrow()  # type: ignore[union-attr]
                wrong.append(f"by {name} it's answered, where plain Spark raises {expected}")
            except (AcceleratorError, PySparkException, Py4JError) as error:
                if _condition(error) != expected:
                    wrong.append(f"by {name} it raises {_shown(error)}, not {expected}")
            if not (block.by_spark or self._by_spark):
                break
        return f"error {expected}", wrong


@contextmanager
def opened(name: str, state: str) -> Iterator[Run]:
    """A suite as it is at that state, for what its lines can't say."""
    run = Run(read(FOLDER / f"{name}.slt"))
    try:
        run.go_to(state)
        yield run
    finally:
        run.close()


def source(answer: Result, *, files: bool = False) -> str:
    """What has answered: cube, index, manifest or rows, `spark` where Spark finished it.

    With the number of data files that were read, and that there are, where that is asked.
    """
    metrics = answer.metrics
    if not metrics.rewritten:
        return f"plain {(metrics.fallback or 'none').partition(':')[0]}"
    if metrics.cubes:
        told = "cube"
    elif metrics.indexes:
        told = "index"
    else:
        told = "rows" if metrics.files_read else "manifest"
        if metrics.all_rows is not None:
            told = f"rows {metrics.all_rows.partition(':')[0]}"
    told = f"{told} by spark" if metrics.engine == "spark" else told
    return f"{told} {metrics.files_read} of {metrics.files_total}" if files else told


def _condition(error: BaseException) -> str:
    if isinstance(error, PySparkException):
        return error.getCondition() or type(error).__name__
    code = getattr(error, "code", None)
    if isinstance(error, Py4JError):
        return "INTERNAL_ERROR" if "INTERNAL_ERROR" in str(error) else "Py4JError"
    return str(code or type(error).__name__)


def _shown(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0][:_SAID]}"


def accept(path: Path, found: dict[int, dict[str, str]]) -> int:
    """Writes the expectations of those lines anew; how many have changed."""
    suite, lines, changed = read(path), path.read_text().splitlines(), 0
    for block in suite.asked:
        told = found.get(block.line)
        if not told:
            continue
        line = _head(block, told)
        changed += lines[block.line - 1] != line
        lines[block.line - 1] = line
    path.write_text("\n".join(lines) + "\n")
    return changed


def _head(block: Block, told: dict[str, str]) -> str:
    """The line above a statement that is answered so at those states."""
    everywhere, kind = "" in dict(block.expected), block.kind
    if kind != "refused":
        kind = "error" if all(what.startswith(_ERROR) for what in told.values()) else "query"
    found = {s: what.removeprefix(_ERROR * (kind == "error")) for s, what in told.items()}
    usual = next(iter(found.values()))
    parts = [usual] if everywhere else []
    parts += [f"{s}: {what}" for s, what in found.items() if not everywhere or what != usual]
    return f"{kind} {block.flags}{' | '.join(parts)}"


def expected_of(block: Block, state: str) -> str:
    """What is to answer, as `source` says it."""
    return f"{_ERROR * (block.kind == 'error')}{block.expectation(state)}"


def run_file(path: Path, line: int | None, *, take: bool, by_spark: bool) -> int:
    """Runs a suite or one of its lines, and says what is other than it should be."""
    suite, found, wrong, asked = read(path), {}, 0, 0  # type: ignore[var-annotated]
    run = Run(suite, by_spark=by_spark)
    try:
        for state in run.states:
            run.go_to(state)
            for block in suite.asked:
                end = block.line + block.text.count("\n") + 1
                elsewhere = line is not None and not block.line <= line <= end
                if elsewhere or not block.expectation(state):
                    continue
                told, differences = run.ask(block)
                asked += 1
                found.setdefault(block.line, {})[state] = told
                expected = expected_of(block, state)
                if differences or (told != expected and not take):
                    wrong += 1
                    print(f"{path.name}:{block.line} at {state}: {told}, expected {expected}")
                    print("\n".join(f"    {one}" for one in [block.text, *differences]))
    finally:
        run.close()
    changed = accept(path, found) if take else 0
    print(f"{path.name}: {asked} asked, {wrong} wrong" + (f", {changed} accepted" if take else ""))
    return wrong


def main(arguments: Sequence[str]) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.support.statements", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="FILE[:LINE]")
    parser.add_argument("--accept", action="store_true", help="write what is found as expected")
    parser.add_argument("--spark", action="store_true", help="run by Spark as well")
    told = parser.parse_args(arguments)
    wrong = 0
    for name in told.files or sorted(map(str, FOLDER.glob("*.slt"))):
        found = re.fullmatch(r"(.*\.slt)(?::(\d+))?", name)
        if not found:
            print(f"{name} is no suite: FILE.slt or FILE.slt:LINE", file=sys.stderr)
            return 2
        line = int(found[2]) if found[2] else None
        wrong += run_file(Path(found[1]), line, take=told.accept, by_spark=told.spark)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
