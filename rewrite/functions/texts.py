"""Functions of texts. A text's characters are its code points, to Spark as to DuckDB.

Java writes some letters in the other case as several, or by their place in the word; DuckDB writes
each letter by itself. A text with a letter that they write otherwise is Spark's.
"""

from __future__ import annotations

from collections.abc import Sequence

from rewrite.functions.row import Arguments, Signature, SparkFunction, checked, constant, number

_LETTERS = (
    r"[\x{0}-\x{DE}\x{E0}-\x{12F}\x{131}-\x{148}\x{14A}-\x{17F}\x{400}-\x{45F}\x{5D0}-\x{6FF}"
    r"\x{2010}-\x{203A}\x{20AC}\x{3000}-\x{30FF}\x{4E00}-\x{9FFF}\x{AC00}-\x{D7A3}]*"
)
"""Texts of letters that Java and DuckDB write alike in the other case, one by one."""


def _cased(function: str) -> tuple[Signature, ...]:
    def writes(_args: Arguments, texts: Sequence[str]) -> str:
        (text,) = texts
        cased = f"{function}({text})"
        beyond = checked(f"regexp_full_match({text}, '{_LETTERS}')", cased)
        return f"(CASE WHEN strlen({text}) = length({text}) THEN {cased} ELSE {beyond} END)"

    return (Signature(("string",), "string", writes),)


_COUNT = "CASE WHEN {1} < 0 THEN 0 ELSE {1} END"
"""Characters asked for: DuckDB counts a negative number from the other end."""


_PADDED_MAX = 100_000
"""Characters to which texts are padded here: two billion of them would take the memory."""


def _trimmed(function: str, both: str = "{1}, {0}") -> tuple[Signature, ...]:
    """Removes blanks, or the characters of the first argument of two, as Spark's functions do."""
    return (
        Signature(("string",), "string", f"{function}({{0}}, ' ')"),
        Signature(("string", "string"), "string", f"{function}({both})"),
    )


def _padded(function: str) -> tuple[Signature, ...]:
    return (
        Signature(
            ("as text", "int"),
            "string",
            checked(f"{{1}} <= {_PADDED_MAX}", f"{function}({{0}}, {_COUNT}, ' ')"),
        ),
        Signature(
            ("as text", "int", "string"),
            "string",
            checked(
                f"length({{2}}) > 0 AND {{1}} <= {_PADDED_MAX}",
                f"{function}({{0}}, {_COUNT}, {{2}})",
            ),
        ),
    )


def _end(function: str) -> tuple[Signature, ...]:
    return (
        Signature(
            ("as text", "int"),
            "string",
            f"{function}({{0}}, {_COUNT})",
        ),
    )


def _is_part(args: Arguments) -> str | None:
    return "string" if constant(args[1]) and number(args[2]) != 0 else None


def _substring(args: Arguments, texts: Sequence[str]) -> str:
    """Counts places from 1; below that DuckDB counts otherwise than Spark."""
    call = f"substring({', '.join(texts)})"
    places = zip(args[1:], texts[1:], ("{} > 0", "{} >= 0"), strict=False)
    tests = [test.format(text) for arg, text, test in places if constant(arg) is None]
    return checked(" AND ".join(tests), call) if tests else call


def _is_substring(args: Arguments) -> str | None:
    starts, sizes = args[1:2], args[2:]
    known = all(constant(arg) is None or number(arg) > 0 for arg in starts)
    known = known and all(constant(arg) is None or number(arg) >= 0 for arg in sizes)
    return "string" if known else None


def _concat(args: Arguments, texts: Sequence[str]) -> str:
    """Pairs of pairs, since DuckDB takes 1,000 levels; its own concat passes over NULLs."""
    if len(texts) <= 2:
        return f"({' || '.join(texts)})"
    half = len(texts) // 2
    return f"({_concat(args, texts[:half])} || {_concat(args, texts[half:])})"


TEXTS = (
    SparkFunction(
        "concat",
        (Signature(("as text",), "string", _concat, repeats=True),),
        nodes=("Concat",),
        slots=("expressions",),
        flags=frozenset({"safe"}),
    ),
    SparkFunction("upper", _cased("upper"), words=("upper", "ucase"), nodes=("Upper",)),
    SparkFunction("lower", _cased("lower"), words=("lower", "lcase"), nodes=("Lower",)),
    SparkFunction(
        "length",
        (Signature(("as text",), "int", "CAST(length({0}) AS INTEGER)"),),
        words=("length", "char_length", "character_length", "len"),
        nodes=("Length",),
    ),
    SparkFunction("trim", _trimmed("trim")),
    SparkFunction("ltrim", _trimmed("ltrim")),
    SparkFunction("rtrim", _trimmed("rtrim")),
    SparkFunction("btrim", _trimmed("trim", "{0}, {1}")),
    SparkFunction(
        "substring",
        (
            Signature(("string", "int"), _is_substring, _substring),
            Signature(("string", "int", "int"), _is_substring, _substring),
        ),
        words=("substring", "substr"),
        nodes=("Substring",),
        slots=("this", "start", "length"),
    ),
    SparkFunction("left", _end("left"), nodes=("Left",), slots=("this", "expression")),
    SparkFunction("right", _end("right"), nodes=("Right",), slots=("this", "expression")),
    SparkFunction(
        "replace",
        (
            Signature(("string", "string"), "string", "replace({0}, {1}, '')"),
            Signature(("string", "string", "string"), "string", "replace({0}, {1}, {2})"),
        ),
        nodes=("Replace",),
        slots=("this", "expression", "replacement"),
        behind=", ",
    ),
    *(
        SparkFunction(
            function,
            _padded(function),
            nodes=("Pad",),
            slots=("this", "expression", "fill_pattern"),
            flags=frozenset({"is_left"}),
            behind=",  ",
        )
        for function in ("lpad", "rpad")
    ),
    SparkFunction(
        "instr", (Signature(("string", "string"), "int", "CAST(instr({0}, {1}) AS INTEGER)"),)
    ),
    SparkFunction(
        "locate",
        (Signature(("string", "string"), "int", "CAST(instr({1}, {0}) AS INTEGER)"),),
        slots=("substr", "this", "position"),
        behind=", 1",
    ),
    SparkFunction(
        "split_part",
        (Signature(("string", "=string", "=int"), _is_part, "split_part({0}, {1}, {2})"),),
        nodes=("SplitPart",),
        slots=("this", "delimiter", "part_index"),
    ),
)
