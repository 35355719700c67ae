"""How parts of a statement are written, where the parser's tree has one node for several ways.

Spark names outputs by it: `i IS NOT NULL` and `NOT i IS NULL` are one tree and have two names.
Marks stand in the comments of tokens, which come back on the nodes that these become; there they
are `meta["said"]`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import Token, TokenType, exp

_MARK = "\0said:"
_TRUNCATIONS = frozenset({"date_trunc", "trunc"})
_WORDS = frozenset(
    {"approx_percentile", "cast", "max_by", "min_by", "percentile", "percentile_approx"}
    | {"substr", "substring", "try_cast"}
)
"""Functions that share a node, and whose words this doesn't keep."""
_SUFFIXES = frozenset({"L", "S", "Y", "F", "D"})


def mark(tokens: Sequence[Token]) -> bool:
    """Marks the tokens; whether any was. ValueError where a comment of the text looks like one."""
    if any(comment.startswith(_MARK) for token in tokens for comment in token.comments or ()):
        raise ValueError("a comment that looks like a mark")
    marked = False
    for place, token in enumerate(tokens[:-2]):
        found = _mark_for(tokens, place, token)
        if found is not None:
            found[0].comments.append(_MARK + found[1])
            marked = True
    return marked


def _mark_for(tokens: Sequence[Token], place: int, token: Token) -> tuple[Token, str] | None:
    """The token that gets a mark for what begins here, and what is marked."""
    behind, third = tokens[place + 1], tokens[place + 2]
    kind = token.token_type
    if kind is TokenType.IS and behind.token_type is TokenType.NOT:
        return (third, "is not null") if third.token_type is TokenType.NULL else None
    if kind is TokenType.DCOLON:
        return behind, "suffix" if behind.text.upper() in _SUFFIXES else "cast"
    if behind.token_type is not TokenType.L_PAREN:
        return None
    word = token.text.lower()
    if word == "substr" and _has_from(tokens, place + 1):
        return token, "substring"
    if word in _WORDS:
        return token, word
    if word == "extract":
        return third, third.text
    if word in _TRUNCATIONS:
        unit = third if word == "date_trunc" else _last(tokens, place + 1)
        return (token, unit.text) if unit.token_type is TokenType.STRING else None
    return None


def _has_from(tokens: Sequence[Token], opened: int) -> bool:
    """Whether FROM stands in the parentheses themselves, which Spark calls SUBSTRING by."""
    depth = 0
    for token in tokens[opened:]:
        depth += (token.token_type is TokenType.L_PAREN) - (token.token_type is TokenType.R_PAREN)
        if not depth:
            return False
        if depth == 1 and token.token_type is TokenType.FROM:
            return True
    return False


def _last(tokens: Sequence[Token], opened: int) -> Token:
    """The token before the parenthesis that ends what is opened there."""
    depth = 0
    for place in range(opened, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
        if not depth:
            return tokens[place - 1]
    return tokens[-1]


def take(tree: exp.Expression) -> None:
    """Moves the marks from nodes' comments to `meta["said"]`; none where there are several."""
    for node in tree.walk():
        if not node.comments:
            continue
        marks = [one.removeprefix(_MARK) for one in node.comments if one.startswith(_MARK)]
        if marks:
            node.comments = [one for one in node.comments if not one.startswith(_MARK)] or None
        if len(marks) == 1:  # an alias takes the comments of what it names
            named = node.this if isinstance(node, exp.Alias) else node
            named.meta["said"] = marks[0]


def spelling_of(node: exp.Expression) -> str | None:
    """What is known of how the node is written."""
    found = node.meta_get("said")
    return str(found) if found else None
