"""Which tests are run for a fault, and in which order: the cheap and the specific first.

Unit tests come before those of recorded Spark, and these before those that start a real one. A
test of the file's own name comes first, then those that say the same texts, then files of which
the largest part runs the lines. The file that noticed a fault last, or else the few that say most
of these texts, don't wait for the other tests of their engine.
Recorded answers go by all that a test file has done before, so of such a file all tests up to the
last wanted one are run, in their order; so are a suite's. Others are run by themselves.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath

from tests.mutants.coverage_map import Case, CoverageMap, Ran
from tests.mutants.planted import Mutant

_TEXTS = re.compile(r"\"([^\"\\]{2,60})\"|'([^'\\]{2,60})'")
_OWN = "tests/mutants/"
"""Tests of the faults' own: to them a planted fault is one that can't be planted any more."""
_NEAREST = 3
_BEGIN_S, _GROWTH = 15.0, 3.0
"""The first run of pytest takes so long, as recorded, each further one so many times longer."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The tests of a fault, in order, and how they were found."""

    tests: tuple[Case, ...]
    how: str
    nearest: frozenset[str] = frozenset()
    """Test files that are likely to notice it."""

    def chunks(self) -> Iterator[list[Case]]:
        """Parts for one run of pytest each; none has both unit tests and others.

        Others are tried once some unit tests were: what only they notice needn't wait for all.
        """
        parts: list[tuple[int, int, list[Case]]] = []
        for phase in sorted({_phase(test) for test in self.tests}):
            own = [test for test in self.tests if _phase(test) == phase]
            near = [test for test in own if test.file in self.nearest]
            if near:
                parts.append((0, phase, near))
            rest = _parts([test for test in own if test.file not in self.nearest])
            parts += [(number + 2 * phase, phase, part) for number, part in enumerate(rest)]
        for *_, part in sorted(parts, key=lambda one: one[:2]):
            yield part


def _parts(tests: Sequence[Case]) -> Iterator[list[Case]]:
    """Each longer than the one before; a file of recorded tests is in one."""
    part: list[Case] = []
    spent, allowed = 0.0, _BEGIN_S
    for test in tests:
        apart = part and (test.file != part[-1].file or not test.spark)
        if apart and spent > allowed:
            yield part
            part, spent, allowed = [], 0.0, allowed * _GROWTH
        part.append(test)
        spent += test.seconds
    if part:
        yield part


def chosen(
    mutant: Mutant, root: Path, known: CoverageMap, there: Mapping[str, int], noticed: str = ""
) -> Chosen:
    """The tests that run the lines which the fault changes in the files of that folder.

    `there` has the tests that there are now, with their places; others aren't asked for. `noticed`
    is the test file that noticed the fault last.
    """
    text = (root / mutant.file).read_text(encoding="utf-8")
    ran, how = known.ran(mutant.file, statement_lines(text, mutant.lines(text)), text)
    said = words(mutant)

    def hits(name: str) -> int:
        path = root / name
        told = path.read_text(encoding="utf-8") if said and path.is_file() else ""
        return sum(word in told for word in said)

    found = tuple(ordered(mutant.file, ran, known.tests, there, hits))
    files = {test.file for test in found}
    return Chosen(found, how, frozenset({noticed}) if noticed in files else nearest(found, hits))


def nearest(tests: Iterable[Case], hits: Callable[[str], int]) -> frozenset[str]:
    """The files that say most of the fault's texts, where these are few: they cost little."""
    said = {file: hits(file) for file in {test.file for test in tests}}
    most = max(said.values(), default=0)
    found = [file for file, number in said.items() if number == most]
    return frozenset(found) if most and len(found) <= _NEAREST else frozenset()


def words(mutant: Mutant) -> set[str]:
    """The texts that stand in the code that the fault changes: a test of it may say them too."""
    found: set[str] = set()
    for code in (mutant.old, mutant.new):
        found ^= {one or other for one, other in _TEXTS.findall(code)}
    return found


def ordered(
    file: str,
    ran: Ran,
    tests: Mapping[str, Case],
    there: Mapping[str, int],
    hits: Callable[[str], int] = lambda _: 0,
) -> Iterator[Case]:
    """Those tests in the order in which they're run; `hits` says how near a test file is."""
    by_file: dict[str, list[Case]] = {}
    for name, test in tests.items():
        if name in there and not test.file.startswith(_OWN):
            by_file.setdefault(test.file, []).append(test)
    ranked = []
    for name, some in by_file.items():
        wanted = [t for t in some if t.name in ran.exact]
        shared = any(t.name in ran.setup for t in some)
        if not wanted and not shared:
            continue
        phase = max(_phase(t) for t in (some if shared else wanted))
        near = _distance(name, file), -hits(name)
        share = -round(len(wanted) / len(some), 1)
        run = list(_of_file(some, wanted, there, shared=shared))
        ranked.append(((phase, *near, share, sum(t.seconds for t in run), name), run))
    for _, run in sorted(ranked, key=lambda one: one[0]):
        yield from run


def _of_file(
    some: Sequence[Case], wanted: Sequence[Case], there: Mapping[str, int], *, shared: bool
) -> Iterable[Case]:
    """Of one test file: those that are wanted, and what must be run with them."""
    in_order = sorted(some, key=lambda test: there[test.name])
    if any(test.spark for test in some):
        last = max((there[t.name] for t in wanted), default=-1)
        return in_order if shared else [t for t in in_order if there[t.name] <= last]
    quick = sorted(wanted, key=lambda test: test.seconds)
    rest = [t for t in in_order if t not in set(wanted)] if shared else []
    return [*quick, *rest]


def _phase(test: Case) -> int:
    return 2 if test.live else 1 if test.spark else 0


def _distance(test_file: str, file: str) -> int:
    """Least of a file's own tests, as `test_bind.py` of `bind_expr.py`; then of its folder's.

    Tests mirror the packages.
    """
    words, stem = PurePath(test_file).stem.removeprefix("test_"), PurePath(file).stem
    if words.startswith(stem) or stem.startswith(words.rstrip("s")):
        return 0
    room = PurePath(test_file).parts[1:-1]
    return 1 if room and room == PurePath(file).parts[: len(room)] else 2


def statement_lines(text: str, lines: Iterable[int]) -> set[int]:
    """With those lines all of the statements that they're in, of compound ones the head alone."""
    wanted = set(lines)
    found = set(wanted)
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.stmt):
            continue
        body = getattr(node, "body", None)
        end = node.end_lineno or node.lineno
        if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
            end = max(node.lineno, body[0].lineno - 1)
        span = range(node.lineno, end + 1)
        if wanted & set(span) and not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found |= set(span)
    return found
