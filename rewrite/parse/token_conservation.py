"""Token conservation: what the parser drops, moves or lets pass, seen by writing its tree back.

The parser is wider than Spark's and keeps no account of what it leaves out: `+s` is `s` to it, a
trailing comma nothing, `k ISNULL` a test that Spark refuses. So a statement's tokens are compared
with those of its tree, written back. They must agree, in their order, but for what is listed here:
two ways of writing that the parser takes for one and Spark for the same. Anything else declines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from msgspec import Struct, field
from sqlglot import Token, TokenType

_WORDS = {
    "!=": ("<>",),
    "==": ("=",),
    "<=>": ("IS", "DISTINCT", "FROM"),
    "INTEGER": ("INT",),
    "LONG": ("BIGINT",),
    "SHORT": ("SMALLINT",),
    "BYTE": ("TINYINT",),
    "REAL": ("FLOAT",),
    "DEC": ("DECIMAL",),
    "NUMERIC": ("DECIMAL",),
    "MINUS": ("EXCEPT",),
    "RLIKE": ("REGEXP",),
}
"""One word for another that Spark reads alike."""
_CALLS = {
    "APPROX_PERCENTILE": "PERCENTILE_APPROX",
    "ARRAY_AGG": "COLLECT_LIST",
    "ARRAY_SIZE": "SIZE",
    "BIT_GET": "GETBIT",
    "CEILING": "CEIL",
    "CHAR": "CHR",
    "CHARACTER_LENGTH": "LENGTH",
    "CHAR_LENGTH": "LENGTH",
    "IFNULL": "COALESCE",
    "DATEADD": "DATE_ADD",
    "DATE_DIFF": "DATEDIFF",
    "LCASE": "LOWER",
    "LEN": "LENGTH",
    "LN": "LOG",
    "RANDOM": "RAND",
    "REDUCE": "AGGREGATE",
    "SHA1": "SHA",
    "TO_UNIX_TIMESTAMP": "UNIX_TIMESTAMP",
    "UCASE": "UPPER",
    "NVL": "COALESCE",
    "POW": "POWER",
    "SIGNUM": "SIGN",
    "SUBSTR": "SUBSTRING",
    "VAR_SAMP": "VARIANCE",
}
"""A function's name for another of the same node; the tree keeps which was written."""
_CUTS = frozenset({"SUBSTR", "SUBSTRING"})
"""Functions that have FROM and FOR in place of commas, if one likes."""
_SILENT = frozenset({"!", "AS", "ASC", "CAST", "INNER", "NOT", "OUTER"})
"""Words that change nothing where they're left out, or that are counted since they move."""
_SUFFIXES = {"L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT", "D": "DOUBLE", "F": "FLOAT"}
_TYPES = frozenset(
    {"BOOLEAN", "TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE"}
    | {"TIMESTAMP", "BINARY", "DECIMAL"}
)
_BETWEEN = {
    "ILIKE": "ILIKE",
    "LIKE": "LIKE",
    "MOD": "%",
    "REGEXP": "REGEXP",
    "REGEXP_LIKE": "REGEXP",
    "RLIKE": "REGEXP",
}
"""Functions of two that the tree has as operators."""
_OTHERWISE = {"TO_TIMESTAMP": "TIMESTAMP"}
_REMEMBERED = frozenset({"TRUNC", *_BETWEEN, *_OTHERWISE})
_STATES = {
    "SYSTEM_TIME": "TIMESTAMP",
    "SYSTEM_VERSION": "VERSION",
    "TIMESTAMP": "TIMESTAMP",
    "VERSION": "VERSION",
}
_ENDS = frozenset({"PRECEDING", "FOLLOWING", "ROW"})
_BEFORE_ALL = frozenset({TokenType.SELECT, TokenType.L_PAREN})
_BEFORE_TYPES = frozenset({TokenType.ALIAS, TokenType.DCOLON, TokenType.LT, TokenType.COLON})
_NO_PARENTHESES = frozenset({"CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_USER", "LOCALTIMESTAMP"})
_SPACED = re.compile(r"[\s,]+")
_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING})


def lost(written: Sequence[Token], back: Sequence[Token]) -> str | None:
    """The first token of a statement that its tree has otherwise; None where all are conserved."""
    if _plain(written) == _plain(back):
        return None  # as most are
    mine, theirs = _Account(written), _Account(back)
    if mine.nested and _bag(mine.words) == _bag(theirs.words):
        theirs.words = mine.words  # WITH is written back before the whole
    elif (
        written and written[0].text.upper() == "FROM" and sorted(mine.words) == sorted(theirs.words)
    ):
        theirs.words = mine.words  # FROM t SELECT k: SELECT is written back first
    for place, (a, b) in enumerate(zip(mine.words, theirs.words, strict=False)):
        if a != b:
            return mine.shown(place)
    if len(mine.words) != len(theirs.words):
        place = min(len(mine.words), len(theirs.words))
        return mine.shown(place) if place < len(mine.words) else theirs.shown(place)
    if mine.nots != theirs.nots:
        return "NOT"
    if mine.parentheses + mine.casts > theirs.parentheses + theirs.casts:
        return "("
    return None


def _plain(tokens: Sequence[Token]) -> list[tuple[TokenType, str]]:
    """The tokens but for AS, which may always stand or not."""
    return [
        (token.token_type, token.text if token.token_type in _TEXTS else token.text.upper())
        for token in tokens
        if token.token_type is not TokenType.ALIAS
    ]


def _bag(words: Sequence[str]) -> Counter[str]:
    """The words in any order; a WITH that joins another's items becomes a comma."""
    return Counter("," if word == "WITH" else word for word in words)


class _Open(Struct):
    """A call that the tree has as a cast or an operator: its parenthesis, and the commas in it."""

    depth: int
    token: Token
    word: str
    start: int
    commas: list[int] = field(default_factory=list)


class _Account:
    """A statement's words in their order, and the number of what stands elsewhere in its tree."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.words: list[str] = []
        self.nots = self.casts = self.parentheses = 0
        self.nested = False
        self._shown: list[Token] = []
        self._open: list[_Open] = []
        self._cuts: list[int] = []
        self._depth = 0
        self._tokens = tokens
        self._kinds = [token.token_type for token in tokens] + [TokenType.SEMICOLON] * 3
        place = 0
        while place < len(tokens):
            place += self._tokens_read(place)

    def shown(self, place: int) -> str:
        """The word as it was written."""
        return self._shown[place].text

    def _tokens_read(self, i: int) -> int:
        """How many tokens from there are read."""
        token, kind = self._tokens[i], self._kinds[i]
        rule = _BY_KIND.get(kind)
        if rule is None and kind is not TokenType.IDENTIFIER:
            rule = _BY_WORD.get(token.text.upper())
        taken = rule(self, i) if rule is not None else 0
        if taken:
            return taken
        word = token.text.upper()
        if kind is TokenType.IDENTIFIER:
            self._add(token, word)
        elif self._kinds[i + 1] is TokenType.L_PAREN:
            return self._call(i, word)
        else:
            self._word(token, word)
        return 1

    def _text(self, i: int) -> int:
        """'a' 'b' is concat('a', 'b')."""
        count = 1
        while self._kinds[i + count] in _TEXTS:
            count += 1
        if count > 1:
            self._add(self._tokens[i], "CONCAT")
            self.parentheses += 1
        for number, token in enumerate(self._tokens[i : i + count]):
            if number:
                self._add(token, ",")
            self._add(token, "'" + token.text)
        return count

    def _opened(self, i: int) -> int:
        self._depth += 1
        self.parentheses += 1
        self.nested |= self._kinds[i + 1] is TokenType.WITH
        return 1

    def _closed(self, _i: int) -> int:
        if self._open and self._open[-1].depth == self._depth:
            self._close(self._open.pop())
        if self._cuts and self._cuts[-1] == self._depth:
            self._cuts.pop()
        self._depth -= 1
        return 1

    def _comma(self, i: int) -> int:
        if self._open and self._open[-1].depth == self._depth:
            self._open[-1].commas.append(len(self.words))
        self._add(self._tokens[i], ",")
        return 1

    def _skipped(self, _i: int) -> int:
        return 1

    def _hint(self, i: int) -> int:
        self._add(self._tokens[i], _SPACED.sub("", self._tokens[i].text.upper()))
        return 1

    def _fraction(self, i: int) -> int:
        """.5 is 0.5."""
        if self._kinds[i + 1] is not TokenType.NUMBER:
            return 0
        self._add(self._tokens[i], "0." + self._tokens[i + 1].text)
        return 2

    def _suffix(self, i: int) -> int:
        """x::T is CAST(x AS T), and so is a number with a letter behind."""
        if i + 1 >= len(self._tokens):
            return 0
        type_ = self._tokens[i + 1].text.upper()
        self._word(self._tokens[i + 1], _SUFFIXES.get(type_, type_))
        return 2

    def _moment(self, i: int) -> int:
        """DATE 'x' is CAST('x' AS DATE)."""
        if self._kinds[i + 1] not in _TEXTS:
            return 0
        self._add(self._tokens[i + 1], "'" + self._tokens[i + 1].text)
        self._add(self._tokens[i], self._tokens[i].text.upper())
        return 2

    def _interval(self, i: int) -> int:
        """INTERVAL 1 DAY is INTERVAL '1' DAY."""
        if self._kinds[i + 1] is not TokenType.NUMBER:
            return 0
        self._add(self._tokens[i], "INTERVAL")
        self._add(self._tokens[i + 1], "'" + self._tokens[i + 1].text)
        return 2

    def _nulls(self, i: int) -> int:
        """The tree has where NULLs stand, and is written back without what is usual."""
        return 2 * (self._following(i) in ("FIRST", "LAST"))

    def _cross(self, i: int) -> int:
        """CROSS JOIN is a comma."""
        if self._kinds[i + 1] is not TokenType.JOIN:
            return 0
        self._add(self._tokens[i], ",")
        return 2

    def _set(self, i: int) -> int:
        """UNION DISTINCT is UNION."""
        if self._kinds[i + 1] is not TokenType.DISTINCT:
            return 0
        self._word(self._tokens[i], self._tokens[i].text.upper())
        return 2

    def _all(self, i: int) -> int:
        """SELECT ALL x, count(ALL x)."""
        return int(i > 0 and self._kinds[i - 1] in _BEFORE_ALL)

    def _on(self, i: int) -> int:
        """JOIN without ON is written back with one."""
        return 2 * (self._kinds[i + 1] is TokenType.TRUE)

    def _cut(self, i: int) -> int:
        """substring(a FROM 1 FOR 2) is substring(a, 1, 2)."""
        if not self._cuts or self._cuts[-1] != self._depth:
            return 0
        self._add(self._tokens[i], ",")
        return 1

    def _for(self, i: int) -> int:
        """FOR SYSTEM_TIME AS OF is TIMESTAMP AS OF."""
        if self._cut(i):
            return 1
        state = _STATES.get(self._following(i))
        if state is None:
            return 0
        self._add(self._tokens[i], state)
        return 2

    def _using(self, i: int) -> int:
        if self._kinds[i + 1] is TokenType.L_PAREN:
            return 0
        self._add(self._tokens[i], "USING without parentheses")
        return 1

    def _frame(self, i: int) -> int:
        """ROWS 3 PRECEDING is to the current row."""
        if i + 2 >= len(self._tokens) or self._tokens[i + 2].text.upper() not in _ENDS:
            return 0
        first, end = (self._tokens[i + n].text.upper() for n in (1, 2))
        for word in (self._tokens[i].text.upper(), "BETWEEN", first, end, "AND", "CURRENT", "ROW"):
            self._add(self._tokens[i], word)
        return 3

    def _following(self, i: int) -> str:
        return self._tokens[i + 1].text.upper() if i + 1 < len(self._tokens) else ""

    def _call(self, i: int, word: str) -> int:
        token = self._tokens[i]
        if word in _NO_PARENTHESES and self._kinds[i + 2] is TokenType.R_PAREN:
            self._word(token, word)
            return 3
        of_type = word in _TYPES and not (i and self._kinds[i - 1] in _BEFORE_TYPES)
        if of_type or word in _REMEMBERED:
            self._open.append(_Open(self._depth + 1, token, word, len(self.words)))
        elif word == "DATE_TRUNC" and self._kinds[i + 2] in _TEXTS:
            self._word(token, word)
            self._add(self._tokens[i + 2], "'" + self._tokens[i + 2].text.upper())
            self.parentheses += 1
            self._depth += 1
            return 3
        else:
            if word in _CUTS:
                self._cuts.append(self._depth + 1)
            self._word(token, _CALLS.get(word, word))
        return 1

    def _close(self, call: _Open) -> None:
        """DATE(x) is CAST(x AS DATE), mod(a, b) is a % b; a unit's letters are written large."""
        if call.word in _BETWEEN and len(call.commas) == 1:
            self.words[call.commas[0]] = _BETWEEN[call.word]
            self.parentheses -= 1
        elif call.word != "TRUNC" and call.word not in _BETWEEN and not call.commas:
            self._add(call.token, _OTHERWISE.get(call.word, call.word))
            self.casts -= 1
        else:
            if call.word == "TRUNC" and self.words[-1].startswith("'"):
                self.words[-1] = self.words[-1].upper()
            self.words.insert(call.start, call.word)
            self._shown.insert(call.start, call.token)

    def _word(self, token: Token, word: str) -> None:
        self.nots += word in ("!", "NOT", "<=>")
        self.casts -= word == "CAST"
        if word not in _SILENT:
            for one in _WORDS.get(word, (word,)):
                self._add(token, one)

    def _add(self, token: Token, word: str) -> None:
        self.words.append(word)
        self._shown.append(token)


_Rule = Callable[[_Account, int], int]
_BY_KIND: dict[TokenType, _Rule] = {
    TokenType.ALL: _Account._all,
    TokenType.COMMA: _Account._comma,
    TokenType.DCOLON: _Account._suffix,
    TokenType.DOT: _Account._fraction,
    TokenType.HINT: _Account._hint,
    TokenType.L_PAREN: _Account._opened,
    TokenType.ON: _Account._on,
    TokenType.RAW_STRING: _Account._text,
    TokenType.R_PAREN: _Account._closed,
    TokenType.SEMICOLON: _Account._skipped,
    TokenType.STRING: _Account._text,
}
_BY_WORD: dict[str, _Rule] = {
    "CROSS": _Account._cross,
    "FOR": _Account._for,
    "FROM": _Account._cut,
    "INTERVAL": _Account._interval,
    "NULLS": _Account._nulls,
    "USING": _Account._using,
    **dict.fromkeys(("DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ"), _Account._moment),
    **dict.fromkeys(("RANGE", "ROWS"), _Account._frame),
    **dict.fromkeys(("EXCEPT", "INTERSECT", "MINUS", "UNION"), _Account._set),
}
