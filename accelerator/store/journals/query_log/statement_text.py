"""A statement's text as the log keeps it: without secrets, and its shape, without constants.

The dialect's own tokenizer finds strings and names. Where it can't read the text, all that stands
behind the first word of secrets goes. What counts as a secret stands in
`docs/formats/query-log.md`. The work grows with the text's length and no faster.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

from msgspec import Struct
from sqlglot import Token, TokenType
from sqlglot.errors import SqlglotError

from accelerator.common.redaction import is_secret
from accelerator.errors import UNFIT
from accelerator.store.journals.query_log.record import COLUMN_OF, READ_MAX, bounded
from accelerator.store.journals.query_log.text_shape import without_constants
from rewrite.parse.bounds import tokens_of
from rewrite.text.first_look import QUERY_WORDS, first_word

_MESSAGE_MAX = 8192
_SECRET_MIN = 4
"""Shorter ones stand in other words as well."""
_HIDDEN = "***"
_CLOSERS = ("", "'", '"', "`", "*/")
_QUERIES = QUERY_WORDS | {"FROM"}
_SIGNS = frozenset(("=", "==", "=>", ":=", ":", "<>", "!=", "<=>"))
_COMPARED = frozenset(("LIKE", "ILIKE", "RLIKE", "IN", "BY", "IS"))
_CIPHERS = re.compile(r"(?:try_)?aes_\w+|hmac\w*|(?:to|from)_hmac\w*", re.IGNORECASE)
# In queries columns may be called `key` or `author`; these names are of secrets anywhere.
_SURELY = re.compile(
    r"password|passwd|\bpwd\b|secret|token|credential|(?:api|access|private).?key|bearer"
    r"|connection.?string",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w.\-]{1,100}")
_SAID = re.compile(r"(?<![\w.\-])([\w.\-]{1,100}[\"']?\s{0,9}[=:]\s{0,9})(\S+)")
_WORD = re.compile(r"\S+")
_PIECE = re.compile(r"[^?&;]+|[?&;]")
_QUOTED = ("'", '"', "`", "r'", 'r"', "R'", 'R"')
_NO_SPACE_BEFORE = frozenset((",", ")", ".", "]", ";"))
_NO_SPACE_BEHIND = frozenset(("(", ".", "["))
_LIST = "?, …"
_OTHER_STRINGS = frozenset(one for one in TokenType if one.name.endswith("_STRING"))
_CONSTANTS = _OTHER_STRINGS | {TokenType.STRING, TokenType.NUMBER}


class RedactedStatement(Struct, frozen=True):
    """The text without secrets; the shape's hash and text, None of what is no query.

    `secrets` are those that were found, None where the text couldn't be read.
    """

    text: str
    shape: str | None
    shape_text: str | None
    secrets: frozenset[str] | None

    def hidden_in(self, message: str | None) -> str | None:
        """What was said of the statement, without its secrets: errors quote statements."""
        if message is None:
            return None
        message = message[:_MESSAGE_MAX]
        if self.secrets is None:
            return _logins(_before_secrets(message, set()))
        for one in sorted(self.secrets, key=len, reverse=True):
            message = message.replace(one, _HIDDEN)
        return _logins(message)


def redact_sql(sql: str, dialect: str) -> RedactedStatement:
    """What the log keeps of a statement; of a long one the beginning, and no shape.

    Statements that differ in constants alone are cut into words once.
    """
    return _redacted_prefix(sql[: READ_MAX + 1], dialect)


@lru_cache(256)
def _redacted_prefix(sql: str, dialect: str) -> RedactedStatement:
    """The same of a text that is at most one letter longer than what is looked at."""
    bare = without_constants(sql, dialect) if len(sql) < READ_MAX else None
    if bare is None:
        return read(sql, dialect)
    alike = _alike(bare, dialect)
    if alike is None:
        return read(sql, dialect)
    return RedactedStatement(
        bounded(sql, COLUMN_OF["sql"].most), alike.shape, alike.shape_text, alike.secrets
    )


@lru_cache(512)
def _alike(bare: str, dialect: str) -> RedactedStatement | None:
    """What holds for all statements of which that is left; None where each has to be read."""
    found = read(bare, dialect)
    whole = found.text == bounded(bare, COLUMN_OF["sql"].most)
    return found if whole and found.shape is not None and found.secrets == frozenset() else None


def read(sql: str, dialect: str) -> RedactedStatement:
    """The same by the statement's own words."""
    most = COLUMN_OF["sql"].most
    begun = sql[:READ_MAX]
    first = first_word(begun)
    tokens = _tokens(begun, first.end, dialect, is_cut=len(sql) >= READ_MAX)
    if tokens is None:
        return RedactedStatement(
            bounded(_logins(_before_secrets(begun, set())), most), None, None, None
        )
    is_query = first.text in _QUERIES
    found: set[str] = set()
    text = bounded(_logins(_without_secrets(begun, first.end, tokens, is_query, found)), most)
    secrets = frozenset(one for one in found if len(one) >= _SECRET_MIN)
    if not is_query or len(sql) > READ_MAX:
        return RedactedStatement(text, None, None, secrets)
    pieces = _pieces(first.text, first.in_parentheses, tokens)
    digest = hashlib.sha256("\x1f".join(pieces).encode("utf-8", "replace")).hexdigest()
    shape_text = bounded(_spaced(pieces), COLUMN_OF["shape_text"].most)
    return RedactedStatement(text, digest[:32], shape_text, secrets)


def _tokens(sql: str, start: int, dialect: str, *, is_cut: bool) -> list[Token] | None:
    """Those behind the first word; of a text that was cut in a string or comment as if that ended.

    None where the tokenizer can't read it, a quote isn't closed, or there is no such dialect.
    """
    for closer in _CLOSERS if is_cut else ("",):
        try:
            return tokens_of(sql[start:] + closer, dialect)
        except (SqlglotError, *UNFIT):
            continue
    return None


def _before_secrets(text: str, secrets: set[str]) -> str:
    """What stands before the first word of secrets; the rest is added to them."""
    found = _SURELY.search(text) or next(
        (one for one in _WORD.finditer(text) if is_secret(one[0])), None
    )
    if found is None:
        return text
    secrets.add(text[found.start() :])
    return f"{text[: found.start()]}{_HIDDEN}"


def _without_secrets(
    sql: str, start: int, tokens: list[Token], is_query: bool, found: set[str]
) -> str:
    """The text with `***` for each value of a secret's name; `found` gets these values."""
    name, equals, value = sql.partition("=")
    if sql[:start].strip().upper() == "SET" and equals and is_secret(name):
        found.add(value.strip().strip("'\""))
        return f"{name}={' ' * value.startswith(' ')}{_HIDDEN}"
    pieces, end, secrets, was_hidden = [sql[:start]], start, _Secrets(is_query), False
    for token in tokens:
        begin, stop = token.start + start, min(token.end + 1 + start, len(sql))
        if begin >= stop or len(token.text) > stop - begin:
            # What was cut off, or the rest of a command, which is one token at another place.
            return "".join(pieces) + _before_secrets(sql[end:], found)
        raw, beside = sql[begin:stop], begin == end
        pieces.append(_comment(sql[end:begin], found))
        end = stop
        hidden = secrets.holds(token, raw, beside=beside)
        goes_on, was_hidden = beside and was_hidden, hidden
        if hidden:
            found.update((token.text, raw.strip("'\"")))
            shown = f"{raw[0]}{_HIDDEN}{raw[0]}" if raw[0] in "'\"" else _HIDDEN
            pieces.append("" if goes_on else shown)
        elif raw.startswith(_QUOTED):
            pieces.append(_parameters(raw, found))
        else:
            pieces.append(raw)
    pieces.append(_comment(sql[end:], found))
    return "".join(pieces)


class _Secrets:
    """Goes over tokens and tells which of them are values of secrets.

    `_name` is what a value may follow, `_signed` whether a sign or comparison stood behind it,
    `_frames` whether what stands in each open parenthesis is hidden.
    """

    def __init__(self, is_query: bool) -> None:
        self._is_query = is_query
        self._name, self._signed, self._joined = "", False, False
        self._is_text = self._hides_on = False
        self._frames = [False]

    def holds(self, token: Token, raw: str, *, beside: bool) -> bool:
        """Whether the next token is a secret; `beside`: nothing stands between it and the last."""
        if self._hides_on and beside and raw not in ",;)(":
            return True
        self._hides_on = False
        if _is_text(token, raw):
            return self._text(token.text)
        if token.token_type == TokenType.NUMBER:
            hidden = self._frames[-1] or (self._signed and self._is_secret)
            self._forget()
            return hidden
        if token.token_type == TokenType.IDENTIFIER or _NAME.fullmatch(raw):
            return self._word(token, raw)
        self._sign(raw)
        return False

    @property
    def _is_secret(self) -> bool:
        if self._is_query:
            return _SURELY.search(self._name) is not None
        return is_secret(self._name) or self._name.upper() == "IDENTIFIED"

    def _forget(self, name: str = "", *, is_text: bool = False) -> None:
        self._name, self._signed, self._joined, self._is_text = name, False, False, is_text

    def _text(self, text: str) -> bool:
        hidden = self._frames[-1] or (bool(self._name) and self._is_secret)
        self._forget("" if hidden or not _NAME.fullmatch(text) else text, is_text=True)
        self._hides_on = hidden
        return hidden

    def _word(self, token: Token, raw: str) -> bool:
        if self._joined and not self._signed:
            self._name, self._joined = f"{self._name}.{token.text}"[-200:], False
            return False
        key = raw.upper()
        if self._name and key in _COMPARED:
            self._signed = True
            return False
        if self._name and key == "NOT":
            return False
        hidden = self._signed and not self._is_query and self._is_secret
        self._forget("" if hidden else token.text)
        self._hides_on = hidden
        return hidden

    def _sign(self, raw: str) -> None:
        if raw == "(":
            ciphers = not self._signed and _CIPHERS.fullmatch(self._name) is not None
            compared = self._signed and self._is_secret
            self._frames.append(self._frames[-1] or ciphers or compared)
            self._forget()
        elif raw == ")":
            if len(self._frames) > 1:
                self._frames.pop()
            self._forget()
        elif raw in (".", "-") and self._name:
            self._joined = True
        elif (raw in _SIGNS or (raw == "," and self._is_text)) and self._name:
            self._signed = True
        else:
            self._forget()


def _is_text(token: Token, raw: str) -> bool:
    """Whether it's a string; what follows a command's word may be one token that isn't."""
    if token.token_type == TokenType.STRING:
        return raw.startswith(_QUOTED)
    return token.token_type in _OTHER_STRINGS


def _comment(gap: str, secrets: set[str]) -> str:
    """What stands between tokens: comments may say `password: …`."""
    if not gap or gap.isspace():
        return gap

    def hidden(said: re.Match[str]) -> str:
        if not is_secret(said[1]):
            return said[0]
        secrets.add(said[2])
        return said[1] + _HIDDEN

    return _SAID.sub(hidden, gap)


def _parameters(text: str, secrets: set[str]) -> str:
    """A string whose parameters, as `…?a=1&key=2` and `a=1;key=2` have them, are no secrets."""
    if "=" not in text:
        return text
    quote = text[-1] if text[-1] in "'\"`" else ""
    pieces = []
    for piece in _PIECE.findall(text.removesuffix(quote) if quote else text):
        name, equals, value = piece.partition("=")
        hides = bool(equals) and is_secret(name)
        if hides:
            secrets.add(value)
        pieces.append(f"{name}={_HIDDEN}" if hides else piece)
    return "".join(pieces) + quote


def _logins(text: str) -> str:
    """The text without users and passwords in addresses."""
    return _WORD.sub(lambda found: _login(found[0]), text) if "://" in text else text


def _login(word: str) -> str:
    before, mark, rest = word.partition("://")
    _, at, behind = rest.rpartition("@")
    return f"{before}://{_HIDDEN}@{behind}" if mark and at else word


def _pieces(first: str, opened: bool, tokens: list[Token]) -> list[str]:
    """The tokens of a shape: names in small letters, `?` for constants, `?, …` for lists of them.

    A parenthesis before the first word is one of them. IN has a list, of one constant too.
    """
    found = ["(", first] if opened else [first]
    for piece in map(_piece, tokens):
        if piece == "?" and found[-1] in ("?", _LIST):  # texts side by side are one
            continue
        if piece == "?" and found[-1] == "," and found[-2] in ("?", _LIST):
            found[-2:] = [_LIST]
        elif piece == "?" and found[-2:] == ["IN", "("]:
            found.append(_LIST)
        elif piece != ";":
            found.append(piece)
    return found


def _piece(token: Token) -> str:
    kind, text = token.token_type, token.text
    if kind == TokenType.IDENTIFIER:
        return f"`{_logins(_parameters(text, set()))}`"
    if kind == TokenType.VAR:
        return text.lower()
    if kind in _CONSTANTS:
        return "?"
    return text.upper()


def _spaced(pieces: list[str]) -> str:
    """The tokens as a line that people read."""
    parts: list[str] = []
    before = "("
    for piece in pieces:
        is_call = piece == "(" and before.islower()
        if before not in _NO_SPACE_BEHIND and piece not in _NO_SPACE_BEFORE and not is_call:
            parts.append(" ")
        parts.append(piece)
        before = piece
    return "".join(parts)
