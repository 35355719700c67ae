"""Trino's functions of texts and bytes as Spark SQL.

Where Trino gives NULL for what isn't there, Spark gives an empty text; where Trino knows every
white space, Spark knows the blank alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from rewrite.dialects.rule import Context, Rule, UnsureMeaningError, constant_text, spark
from rewrite.dialects.trino.dates import whole
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
    exp.Pad: ("this", "expression", "fill_pattern", "is_left"),
    exp.StartsWith: ("this", "expression"),
    exp.ConcatWs: ("expressions", "safe", "coalesce"),
}
_SPACES = (
    "\t\n\v\f\r\x1c\x1d\x1e\x1f \u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006"
    "\u2008\u2009\u200a\u2028\u2029\u205f\u3000"
)
"""What Trino trims."""
_PAD_MAX = 1_000_000


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


RULES: Mapping[type[exp.Expr], Rule] = {
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
