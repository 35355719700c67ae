"""Bounds on a text before sqlglot parses it: the only place that calls its tokenizer and parser.

The compiled parser recurses on the C stack without a check. It reads the arguments of a type's name
twice, because `ROW(` may begin a type or a call, so each nested level doubles its time. So each
text is measured first: its length, its tokens, the depth of its nesting, and the tokens that the
parser reads again. A budget of tree nodes bounds what this measure doesn't foresee
(`docs/decisions/0050-texts-are-measured-before-they-are-parsed.md`).
"""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise

from sqlglot import Token, TokenType, exp
from sqlglot.dialects import Dialect
from sqlglot.errors import ANSI_RESET, ANSI_UNDERLINE, ParseError
from sqlglot.parser import Parser

from rewrite.errors import StatementTooDeepError
from rewrite.types import DIGITS_MAX

CODE = "statement_too_deep"
HINT = "nest less: name subqueries with WITH, and join a table of values instead of a long list"
CHARACTERS_MAX = 1_000_000
TOKENS_MAX = 40_000
AGAIN_MAX = 10_000
"""How often tokens may be read again: inside of n types' brackets 2ⁿ times; each costs 20 µs."""
DEPTH_MAX = 200
"""A thread with a stack of 512 kB survives 211 nested casts, parsed and written."""
CHAIN_MAX = 250
"""Steps behind one operand, as in `a[1][2].b::int`, and joins of one FROM."""
_LONG_NUMBER = re.compile(rf"[0-9]{{{DIGITS_MAX}}}")
_SIGNS_MAX = 400_000
"""The signs of a text that is cut into tokens: a token takes about 200 bytes."""
_SIGNS = "()[]{}<>,.;:=+-*/%|&^~!@#$?'`\"\\ \t\r\n"
_PREFIXES = ("IF", "CONNECT_BY_ROOT", "PRIOR")
_REFUSED_MAX = 8
_REFUSED: dict[tuple[str, str], str] = {}
"""Texts that were refused last, because one statement is parsed in several places."""
_SURELY_FEW = TOKENS_MAX
_QUOTED = re.compile(  # what isn't closed ends with the text, so that nothing is read twice
    r"'(?:[^'\\]|\\.?)*+(?:'|\Z)|\"(?:[^\"\\]|\\.?)*+(?:\"|\Z)|`[^`]*+(?:`|\Z)"
    r"|--[^\n]*+|/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)",
    re.DOTALL,
)
_BLANKS, _WORDS = re.compile(r"\s++"), re.compile(r"\w++")
_NODES_MIN, _NODES_PER_TOKEN = 1_000, 4
"""The nodes that the parser may make; sound statements need two for three tokens."""


class TooDeepError(ParseError):
    """A text is beyond a bound, so it wasn't parsed."""


def too_deep(error: ParseError) -> StatementTooDeepError:
    """Returns the error for a user whose statement must be parsed here."""
    return StatementTooDeepError(f"the statement isn't parsed: {error}", hint=HINT)


@contextmanager
def uncollected() -> Iterator[None]:
    """Pauses the garbage collector, also as a decorator.

    The tokens and the tree of a long text are many new objects, and none of them is garbage yet.
    Over them the collector would walk through the whole process again and again, which takes
    twice as long as parsing. The bounds limit what can be made meanwhile.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@cache
def dialect_of(name: str) -> Dialect:
    """Returns the parser's dialect of that name, made once."""
    return Dialect.get_or_raise(name)


@uncollected()
def tokens_of(sql: str, dialect: str, *, many: bool = False) -> list[Token]:
    """Cuts a text into tokens; how they nest isn't measured, because nothing parses them.

    `many`: a text may have more tokens than one that is parsed. Raises TooDeepError for a text
    that is too long, TokenError if a quote isn't closed.
    """
    check_length(sql)
    if not many:
        check_tokens(sql)
    tokens = list(dialect_of(dialect).tokenize(sql))
    if not many:
        check_count(tokens)
    return tokens


def check_count(tokens: Sequence[Token]) -> None:
    """Raises TooDeepError for more tokens than are parsed."""
    if len(tokens) > TOKENS_MAX:
        raise TooDeepError(f"It has {len(tokens)} tokens, more than {TOKENS_MAX}.")


def _check_numbers(tokens: Sequence[Token], sql: str) -> None:
    """Raises TooDeepError for a number that Python refuses to read (4,300 digits)."""
    if _LONG_NUMBER.search(sql) is None:
        return
    digits = max((len(t.text) for t in tokens if t.token_type is TokenType.NUMBER), default=0)
    if digits > DIGITS_MAX:
        raise TooDeepError(f"It has a number of {digits} characters, more than {DIGITS_MAX}.")


def measured(sql: str, dialect: str) -> tuple[list[Token], int]:
    """Cuts a text into tokens that may be parsed, with the tokens that the parser reads.

    Raises TooDeepError beyond a bound, TokenError if a quote isn't closed.
    """
    refused = _REFUSED.get((sql, dialect))
    if refused is not None:
        raise TooDeepError(refused)
    try:
        tokens = tokens_of(sql, dialect)
        if sum(map(sql.upper().count, _PREFIXES)) > DEPTH_MAX:
            _check_prefixes(tokens)
        _check_numbers(tokens, sql)
        return tokens, work_of(tokens)
    except TooDeepError as error:
        if len(_REFUSED) >= _REFUSED_MAX:
            _REFUSED.clear()
        _REFUSED[sql, dialect] = str(error)
        raise


def _check_prefixes(tokens: Sequence[Token]) -> None:
    """Raises TooDeepError for words that are prefixes to the parser, and names to its tokenizer."""
    found = 0
    for token, behind in pairwise(tokens):
        is_prefix = token.token_type is TokenType.VAR and token.text.upper() in _PREFIXES
        found += is_prefix and behind.token_type is not TokenType.L_PAREN
    if found > DEPTH_MAX:
        raise TooDeepError(f"It has more than {DEPTH_MAX} prefixes, as IF without parentheses.")


@uncollected()
def trees_of(tokens: list[Token], sql: str, dialect: str, work: int) -> list[exp.Expression | None]:
    """Parses tokens that were measured; raises TooDeepError or the parser's own errors.

    The caller may have changed the tokens' words since, but not how they nest.
    """
    nodes = _NODES_MIN + _NODES_PER_TOKEN * work
    try:
        return list(dialect_of(dialect).parser(max_nodes=nodes).parse(tokens, sql))
    except ParseError as error:
        if "Maximum number of AST nodes" in str(error):
            raise TooDeepError("The parser would read parts of it over and over.") from error
        plain = str(error).replace(ANSI_UNDERLINE, "").replace(ANSI_RESET, "")
        error.args = (plain,)  # it underlines a part by codes for a terminal
        raise


def tree_of(sql: str, dialect: str) -> exp.Expression:
    """Parses one statement or expression as the parser alone reads it."""
    tokens, work = measured(sql, dialect)
    trees = trees_of(tokens, sql, dialect, work)
    if len(trees) != 1 or trees[0] is None:
        raise ParseError("It isn't one statement.")
    return trees[0]


def type_of(text: str, dialect: str) -> exp.DataType:
    """Parses a type; TooDeepError if it's nested too deeply."""
    measured(text, dialect)
    return exp.DataType.build(text, dialect=dialect)


def check_length(sql: str) -> None:
    """Raises TooDeepError for a text that is too long to be cut into tokens."""
    if len(sql) > CHARACTERS_MAX:
        raise TooDeepError(f"It has {len(sql)} characters, more than {CHARACTERS_MAX}.")
    if len(sql) > _SIGNS_MAX and sum(map(sql.count, _SIGNS)) > _SIGNS_MAX:
        raise TooDeepError(f"It has more than {_SIGNS_MAX} signs and blanks.")


def check_tokens(sql: str) -> None:
    """Raises TooDeepError for a text that surely has more than TOKENS_MAX tokens.

    Cutting it would take a second. Quoted texts and comments don't count; each bracket, each
    comma and each word between blanks is a token.
    """
    if len(sql) <= _SURELY_FEW:
        return
    bare = _QUOTED.sub(" ", sql)
    signs = sum(map(bare.count, "()[]{},;"))
    words = sum(1 for _ in _WORDS.finditer(bare)) // 2  # `1.5` and GROUP BY are a token each
    if max(signs, words, _BLANKS.sub(" ", bare).count(" ")) > TOKENS_MAX + 2:
        raise TooDeepError(f"It has more than {TOKENS_MAX} tokens.")


def work_of(tokens: Sequence[Token]) -> int:  # noqa: PLR0912 - one loop, for its speed
    """Counts the tokens that the parser reads; TooDeepError for a text beyond a bound.

    >>> [work_of(dialect_of("spark").tokenize(one)) for one in ("SELECT f(1)", "SELECT array(1)")]
    [5, 7]
    """
    check_count(tokens)
    levels: list[_Level] = []
    # `run`: words in a row without an operand between them, because each may be a prefix of the
    # next. `links`: steps behind one operand. `read`: how often the parser reads a token here.
    depth = run = links = joins = total = 0
    read, begun, before = 1, False, TokenType.SEMICOLON
    for place, token in enumerate(tokens):
        kind = token.token_type
        total += read
        role = _ROLES.get(kind, _WORD)
        if role == _OPERAND:
            begun = True
        elif role == _SEPARATOR:
            run = links = 0
            begun = False
        else:
            if role == _EITHER:
                role = _role(kind, before, levels)
            if role == _WORD:
                run = run * (not begun) + 1
                links = links + 1 if kind in _LINKS else links if kind in _TYPES else 0
                joins += kind is TokenType.JOIN
                begun = False
                if depth + run > DEPTH_MAX or links > CHAIN_MAX or joins > CHAIN_MAX:
                    raise _beyond(depth + run)
            elif role == _OPENER:
                links += begun and kind is TokenType.L_BRACKET
                levels.append((kind, depth, run, links, joins, read))
                depth += 1 + run
                if before in _TYPES or (before is _NAME and _is_type(tokens[place - 1].text)):
                    read *= 2
                if depth > DEPTH_MAX or links > CHAIN_MAX or total > TOKENS_MAX + AGAIN_MAX:
                    raise _beyond(depth)
                run = links = joins = 0
                begun = False
            else:
                while levels:
                    opener, depth, run, links, joins, read = levels.pop()
                    # An open CASE or `<` ends with the brackets around it.
                    if opener in _BRACKETS or kind in _OPENER_OF:
                        break
                begun = True
        before = kind
    if total > len(tokens) + AGAIN_MAX:
        raise _beyond(depth)
    return total


_Level = tuple[TokenType, int, int, int, int, int]


def _role(kind: TokenType, before: TokenType, levels: list[_Level]) -> int:
    """Tells whether `<`, `>` or END begins or ends a level here, or is a sign or a name."""
    opener = _OPENER_OF.get(kind)
    if opener is None:
        return _OPENER if before in _NESTED else _WORD
    return _CLOSER if levels and levels[-1][0] is opener else _WORD


def _beyond(depth: int) -> TooDeepError:
    if depth > DEPTH_MAX:
        return TooDeepError(f"It's nested more than {DEPTH_MAX} levels deep.")
    return TooDeepError("It has too long a chain, or types and arrays that are nested too deeply.")


def _is_type(name: str) -> bool:
    """Tests whether the parser takes a name in quotes for a type's."""
    return name.upper() in _type_words()


@cache
def _type_words() -> frozenset[str]:
    words = dialect_of("spark").tokenizer_class.KEYWORDS
    return frozenset(word for word, kind in words.items() if kind in _TYPES)


def _kinds(names: str) -> frozenset[TokenType]:
    return frozenset(TokenType[name] for name in names.split())


_NAME = TokenType.IDENTIFIER
_BRACKETS = _kinds("L_PAREN L_BRACKET L_BRACE")
_LINKS = _kinds(
    "DOT DCOLON DOTCOLON COLON ARROW DARROW FARROW HASH_ARROW DHASH_ARROW COLON_EQ PLACEHOLDER"
)
_TYPES = frozenset(Parser.TYPE_TOKENS) - _kinds("UNION")
"""Names of types: the parser reads the brackets behind them twice."""
_NESTED = frozenset(Parser.NESTED_TYPE_TOKENS)
_OPENER_OF = {TokenType.END: TokenType.CASE, TokenType.GT: TokenType.LT}
_WORD, _OPERAND, _SEPARATOR, _OPENER, _CLOSER, _EITHER = range(6)
_ROLES = {
    **dict.fromkeys(
        _kinds(
            "VAR IDENTIFIER STRING NUMBER BIT_STRING HEX_STRING BYTE_STRING RAW_STRING"
            " NATIONAL_STRING HEREDOC_STRING UNICODE_STRING NATIONAL_RAW_STRING NULL TRUE FALSE"
        ),
        _OPERAND,
    ),
    # The parser and the writer read chains of these in a loop.
    **dict.fromkeys(_kinds("COMMA SEMICOLON AND OR UNION EXCEPT INTERSECT"), _SEPARATOR),
    **dict.fromkeys((*_BRACKETS, TokenType.CASE), _OPENER),
    **dict.fromkeys(_kinds("R_PAREN R_BRACKET R_BRACE"), _CLOSER),
    **dict.fromkeys((TokenType.LT, *_OPENER_OF), _EITHER),
}
