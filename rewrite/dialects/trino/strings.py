"""Trino's functions of texts and bytes as Spark SQL.

Where Trino gives NULL for what isn't there, Spark gives an empty text; where Trino knows every
white space, Spark knows the blank alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sqlglot import exp

from rewrite.dialects.rule import Context, Rule, UnsureMeaningError, constant_text, spark
from rewrite.dialects.trino import timestamps_with_zone as moments
from rewrite.dialects.trino.dates import whole
from rewrite.dialects.trino.exact_types import OPERAND, digits_of
from rewrite.dialects.trino.regex import Pattern, java_pattern
from rewrite.dialects.value_kinds import ELEMENT, Meaning

PARTS: Mapping[type[exp.Expr], tuple[str, ...]] = {
    exp.RegexpLike: ("this", "expression"),
    exp.RegexpExtract: ("this", "expression", "group", "null_if_pos_overflow"),
    exp.RegexpReplace: ("this", "expression", "replacement"),
    exp.SHA2Digest: ("this", "length"),
    exp.Decode: ("this", "charset"),
    exp.Encode: ("this", "charset"),
    **dict.fromkeys((exp.Unhex, exp.Hex, exp.LowerHex, exp.Reverse, exp.MD5Digest), ("this",)),
    exp.SplitPart: ("this", "delimiter", "part_index"),
    exp.Split: ("this", "expression"),
    exp.StrPosition: ("this", "substr"),
    exp.Trim: ("this", "position", "expression"),
    exp.Replace: ("this", "expression", "replacement"),
    exp.Format: ("this", "expressions"),
    exp.Pad: ("this", "expression", "fill_pattern", "is_left"),
    exp.StartsWith: ("this", "expression"),
    exp.ConcatWs: ("expressions", "safe", "coalesce"),
    exp.Typeof: ("this",),
}
_SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""What Trino trims."""
_PAD_MAX = 1_000_000
_FORMAT = re.compile(r"%s|(?:[^%\\]|%%)+")
_WRITTEN = {"whole": 20, "string": 0, "date": 10, "decimal": 41, "boolean": 5}
"""Kinds whose values both write alike, and how many letters they have at most."""
_MICROSECONDS = 6
_LONGEST_TIME = len("+294247-01-10 04:00:54")
_SHORT_LONGEST = 11
"""How many letters integers of 32 bits have at most."""


def _text(node: exp.Expr | None, context: Context) -> exp.Expr:
    if node is None or context.of(node) != "string":
        raise UnsureMeaningError("whether it's of a text isn't known", "CAST it AS VARCHAR")
    return node


def _pattern(node: exp.Expr) -> Pattern:
    found = java_pattern(constant_text(node.args["expression"], "pattern"))
    if found is None:
        raise UnsureMeaningError("the pattern isn't surely read alike")
    return found


def _regexp_like(node: exp.Expr, context: Context) -> exp.Expression:
    text = _text(node.args["this"], context)
    return spark(":s RLIKE :p", "boolean", s=text, p=_pattern(node).java)


def _regexp_extract(node: exp.Expr, context: Context) -> exp.Expression:
    """NULL where nothing matches; a group that no match leaves out is a text then."""
    text, pattern = _text(node.args["this"], context), _pattern(node)
    group = whole(node.args.get("group"))
    if group is None or not 0 <= group <= len(pattern.groups):
        raise UnsureMeaningError("only constant numbers of groups that the pattern has are")
    if group and not pattern.groups[group - 1]:
        raise UnsureMeaningError("the group may be left out of a match, where it is NULL")
    place = "" if group == 1 else f", {group}"  # the first is the one that isn't said
    return spark(
        f"CASE WHEN :s RLIKE :p THEN REGEXP_EXTRACT(:s, :p{place}) END",
        "string",
        s=text,
        p=pattern.java,
    )


def _regexp_replace(node: exp.Expr, context: Context) -> exp.Expression:
    text, pattern = _text(node.args["this"], context), _pattern(node)
    replacement = constant_text(node.args["replacement"], "replacement")
    if "$" in replacement or "\\" in replacement:
        raise UnsureMeaningError("only replacements without $ and \\ are")
    if pattern.may_be_empty:
        raise UnsureMeaningError("the pattern may match nothing, which is replaced otherwise")
    return spark("REGEXP_REPLACE(:s, :p, :r)", "string", s=text, p=pattern.java, r=replacement)


def _from_utf8(node: exp.Expr, _: Context) -> exp.Expression:
    """Bytes that aren't UTF-8 raise."""
    return spark("VALIDATE_UTF8(CAST(:b AS STRING))", "string", b=node.args["this"])


def _to_utf8(node: exp.Expr, context: Context) -> exp.Expression:
    return spark("CAST(:s AS BINARY)", "bytes", s=_text(node.args["this"], context))


def _from_hex(node: exp.Expr, _: Context) -> exp.Expression:
    digits = constant_text(node.args["this"], "text of digits")
    if len(digits) % 2 or not set(digits) <= set("0123456789abcdefABCDEF"):
        raise UnsureMeaningError("it isn't a text of pairs of digits")
    return exp.HexString(this=digits)


def _to_hex(node: exp.Expr, _: Context) -> exp.Expression:
    return spark("HEX(:b)", "string", b=node.args["this"])


def _to_lower_hex(node: exp.Expr, _: Context) -> exp.Expression:
    """The parser's node for `lower(to_hex(…))`."""
    return spark("LOWER(HEX(:b))", "string", b=node.args["this"])


def _digest(template: str) -> Rule:
    def rule(node: exp.Expr, _: Context) -> exp.Expression:
        length = node.args.get("length")
        if length is not None and length.name != "256":
            raise UnsureMeaningError("only that of 256 bits is")
        return spark(template, "bytes", b=node.args["this"])

    return rule


def _quoted(text: str) -> str:
    """A pattern of Java's that matches that text alone."""
    return "".join(one if one.isalnum() or not one.isascii() else f"\\{one}" for one in text)


def _delimiter(node: exp.Expr, part: str) -> str:
    found = constant_text(node.args.get(part), "delimiter")
    if not found or any(ord(one) < ord(" ") for one in found):
        raise UnsureMeaningError("only delimiters of letters are")
    return _quoted(found)


def _split(node: exp.Expr, context: Context) -> exp.Expression:
    text = _text(node.args["this"], context)
    found = spark("SPLIT(:s, :d, -1)", "array", s=text, d=_delimiter(node, "expression"))
    found.meta[ELEMENT] = Meaning("string")
    return found


def _split_part(node: exp.Expr, context: Context) -> exp.Expression:
    """NULL where there are fewer parts."""
    text, number = _text(node.args["this"], context), whole(node.args.get("part_index"))
    if number is None or number < 1:
        raise UnsureMeaningError("only constant places from 1 on are")
    return spark(
        f"GET(SPLIT(:s, :d, -1), {number - 1})", "string", s=text, d=_delimiter(node, "delimiter")
    )


def _position(node: exp.Expr, context: Context) -> exp.Expression:
    text, sought = (_text(node.args.get(part), context) for part in ("this", "substr"))
    return spark("LOCATE(:t, :s)", "whole", s=text, t=sought)


def _trim(node: exp.Expr, context: Context) -> exp.Expression:
    """Without characters that are said, all white space goes."""
    text, characters = _text(node.args["this"], context), node.args.get("expression")
    side = str(node.args.get("position") or "BOTH").upper()
    removed = _SPACES if characters is None else constant_text(characters, "text of characters")
    if not removed:
        raise UnsureMeaningError("no character is said")
    name = {"BOTH": "BTRIM", "LEADING": "LTRIM", "TRAILING": "RTRIM"}[side]
    if name == "BTRIM":
        return spark("BTRIM(:s, :c)", "string", s=text, c=removed)
    return spark(f"{name}(:c, :s)", "string", s=text, c=removed)


def _replace(node: exp.Expr, context: Context) -> exp.Expression:
    text = _text(node.args["this"], context)
    sought = constant_text(node.args["expression"], "text that is sought")
    put = _text(node.args["replacement"], context)
    if not sought:
        raise UnsureMeaningError("an empty text is found otherwise")
    return spark("REPLACE(:s, :t, :p)", "string", s=text, t=sought, p=put)


def _reverse(node: exp.Expr, context: Context) -> exp.Expression:
    return spark("REVERSE(:s)", "string", s=_text(node.args["this"], context))


def _pad(node: exp.Expr, context: Context) -> exp.Expression:
    text, length = _text(node.args["this"], context), whole(node.args.get("expression"))
    filled = constant_text(node.args.get("fill_pattern"), "text to fill with")
    if length is None or not 0 <= length <= _PAD_MAX or not filled:
        raise UnsureMeaningError("only constant lengths, filled with some text, are")
    name = "LPAD" if node.args.get("is_left") else "RPAD"
    return spark(f"{name}(:s, {length}, :f)", "string", s=text, f=filled)


def _starts_with(node: exp.Expr, context: Context) -> exp.Expression:
    text, start = (_text(node.args[part], context) for part in ("this", "expression"))
    return spark("STARTSWITH(:s, :t)", "boolean", s=text, t=start)


def _concat_ws(node: exp.Expr, context: Context) -> exp.Expression:
    """NULLs among the texts are passed over."""
    operands = {f"x{at}": _text(one, context) for at, one in enumerate(node.expressions)}
    listed = ", ".join(f":{name}" for name in operands)
    return spark(f"CONCAT_WS({listed})", "string", **operands)


def _length(node: exp.Expr, _: Context) -> exp.Expression | None:
    """Counts the letters of a constant."""
    text = node.args["this"]
    is_constant = isinstance(text, exp.Literal) and text.is_string
    return exp.Literal.number(len(text.name)) if is_constant else None


def _format(node: exp.Expr, _: Context) -> exp.Expression:
    """`format` of `%s` alone; a NULL is written as `null`."""
    shape = constant_text(node.args["this"], "format")
    pieces = _FORMAT.findall(shape)
    is_read = pieces and "".join(pieces) == shape
    if not is_read or pieces.count("%s") != len(node.expressions):
        raise UnsureMeaningError("only formats of %s, one for each operand, are")
    operands: dict[str, exp.Expr | str] = {}
    listed: list[str] = []
    values = iter(node.expressions)
    for at, piece in enumerate(pieces):
        if piece == "%s":
            operands[f"x{at}"] = next(values)
            listed.append(f"COALESCE(CAST(:x{at} AS STRING), 'null')")
        else:
            operands[f"x{at}"] = piece.replace("%%", "%")
            listed.append(f":x{at}")
    found = listed[0] if len(listed) == 1 else f"CONCAT({', '.join(listed)})"
    return spark(found, "string", **operands)


def written(
    node: exp.Expr, digits: Sequence[str], type_: str | None, context: Context
) -> exp.Expression | None:
    """A value of that exact type as a text; None if other rules decide.

    A text is cut to `varchar(n)`. Other values that are longer raise.
    """
    kind = context.of(node)
    if kind in ("local", "moment"):
        return _written_time(node, digits, type_, context)
    if kind not in _WRITTEN:
        return None
    text = spark("CAST(:x AS STRING)", "string", x=node)
    if not digits:
        return text
    if not digits[0].isdigit() or digits[0].strip("0") == "":
        raise UnsureMeaningError("only constant numbers of letters from 1 on are")
    most = int(digits[0])
    if kind == "string":
        return spark(f"SUBSTRING(:x, 1, {most})", "string", x=node)
    longest = _SHORT_LONGEST if context.kinds.is_short(node) else _WRITTEN[kind]
    if most >= longest:
        return text
    if kind in ("boolean", "date"):
        raise UnsureMeaningError(f"a value may be longer than {most} letters")
    return spark(
        f"CASE WHEN LENGTH(:s) > {most} THEN RAISE_ERROR(:e) ELSE :s END",
        "string",
        s=text,
        e=f"A value cannot be represented as varchar({most}).",
    )


def _written_time(
    node: exp.Expr, digits: Sequence[str], type_: str | None, context: Context
) -> exp.Expression:
    """All digits of the type, and the zone behind them; Spark writes no zeros at the end.

    A text that is longer than `varchar(n)` raises in Trino at some places only.
    """
    places = digits_of(type_)
    if places is None or places > _MICROSECONDS:
        raise UnsureMeaningError("how many digits it has isn't known", "CAST it AS TIMESTAMP(6)")
    clock, zone = node, ""
    if context.of(node) == "moment":
        clock = moments.wall(node, context) if moments.zone_of(node, context) else node
        zone = f" {context.zones.of(node)}"
        if zone.startswith(" Etc/"):
            raise UnsureMeaningError("Trino has another name for that zone")
    longest = _LONGEST_TIME + (places and 1 + places) + len(zone)
    if digits and not (digits[0].isdigit() and int(digits[0]) >= longest):
        raise UnsureMeaningError(
            f"a text may have {longest} letters, and Trino doesn't cut it",
            "CAST it AS VARCHAR, and cut it by substr",
        )
    text = "CAST(:t AS STRING)"
    if places:
        fraction = f"RPAD(SPLIT_PART({text}, '.', 2), {places}, '0')"
        text = f"CONCAT(SPLIT_PART({text}, '.', 1), '.', {fraction}" + (", :z)" if zone else ")")
    elif zone:
        text = f"CONCAT({text}, :z)"
    return spark(text, "string", t=clock, z=zone)


def _typeof(node: exp.Expr, _: Context) -> exp.Expression:
    """The name of the type, which the allow-list has found to be known."""
    return exp.Literal.string(str(node.meta_get(OPERAND)))


RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Length: _length,
    exp.Typeof: _typeof,
    exp.Format: _format,
    exp.RegexpLike: _regexp_like,
    exp.RegexpExtract: _regexp_extract,
    exp.RegexpReplace: _regexp_replace,
    exp.Decode: _from_utf8,
    exp.Encode: _to_utf8,
    exp.Unhex: _from_hex,
    exp.Hex: _to_hex,
    exp.LowerHex: _to_lower_hex,
    exp.MD5Digest: _digest("UNHEX(MD5(:b))"),
    exp.SHA2Digest: _digest("UNHEX(SHA2(:b, 256))"),
    exp.SplitPart: _split_part,
    exp.Split: _split,
    exp.StrPosition: _position,
    exp.Trim: _trim,
    exp.Replace: _replace,
    exp.Reverse: _reverse,
    exp.Pad: _pad,
    exp.StartsWith: _starts_with,
    exp.ConcatWs: _concat_ws,
}
