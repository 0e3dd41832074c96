"""A check whether Java accepts a text as a regular expression: brokers match with it, so an invalid one is kept out.

Decides by the text alone, in linear time. It follows java.util.regex.Pattern of Java 17 step by step, including its
oddities: `]` and `}` alone are letters, `{2}` alone repeats nothing, a class within a class is a union. It accepts only
what Java accepts; docs/kafka-differences.md lists what it rejects in addition.
"""

from __future__ import annotations

import re
from typing import Final

from quorum.controller.configs.java_regex_reader import DIGITS, END, MANY, BadPatternError, Reader

_MOST_NESTED: Final = 100
"""The deepest nesting of groups and classes. Java's stack overflows at some thousands."""
_MOST_PIECES: Final = 1_000
"""The most groups, class members, runs of letters and other elements. In Java each one nests a call deeper, when the
pattern is read or matched: its stack overflows at 3,000 groups or 3,700 repeated letters."""
_MAX_INT: Final = (1 << 31) - 1
_FLAGS: Final = frozenset("imsducxU")
_letters: Final = re.compile(r"[^\\\[\](){}.*+?^$|#\s\0]+").match
_quoted: Final = re.compile(r"\\Q(.*?)(?:\\E|\Z)|\\.", re.DOTALL)
_means_more: Final = re.compile(r"[^0-9A-Za-z\x80-\U0010ffff]")


def is_java_pattern(text: str) -> bool:
    """Return True if Pattern.compile accepts the text."""
    try:
        _Parser(_without_quotes(text)).check()
    except BadPatternError:
        return False
    return True


def _without_quotes(text: str) -> str:
    r"""Replace each `\Q...\E` by escapes; a digit by its number, or it would extend the escape before it."""

    def unquoted(found: re.Match[str]) -> str:
        quoted = found[1]
        if quoted is None:
            return found[0]
        first = f"\\x3{quoted[0]}" if quoted[:1] in DIGITS and quoted else ""
        return first + _means_more.sub(lambda each: "\\" + each[0], quoted[1:] if first else quoted)

    return _quoted.sub(unquoted, text) if "\\Q" in text else text


class _Parser(Reader):
    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._depth = self._pieces = 0

    def check(self) -> None:
        """Raise BadPatternError if the pattern is invalid."""
        self._alternatives()
        if self._at != self._length:
            raise BadPatternError

    # --- groups, what is in them, and how often

    def _alternatives(self) -> None:
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise BadPatternError
        self._sequence()
        while self._peek() == "|":
            self._next()
            self._sequence()
        self._depth -= 1

    def _sequence(self) -> None:
        while True:
            if "x" not in self._flags:
                run = _letters(self._text, self._at)
                if run is not None:
                    self._count()
                    self._at = run.end()
                    self._closure()
                    continue
            char = self._peek()
            if char in "|)" or (char == END and self._at >= self._length):
                return
            self._count()
            if char == "(":
                if not self._group():
                    continue
            elif char in "?*+":
                raise BadPatternError
            else:
                self._single(char)
            self._closure()

    def _count(self) -> None:
        self._pieces += 1
        if self._pieces > _MOST_PIECES:
            raise BadPatternError

    def _single(self, char: str) -> None:
        if char == "[":
            self._class(is_bracketed=True)
        elif char == "\\":
            if self._text[self._at + 1] in "pP":
                self._at += 1
                self._property()
            else:
                self._escape(in_class=False)
        elif char != "{":  # which repeats nothing here, and may
            self._next()

    def _closure(self) -> None:
        char = self._peek()
        if char == "{":
            self._counted()
        elif char in "?*+":
            self._is_endless |= char != "?"
            self._next()
        else:
            return
        if self._peek() in "?+":
            self._next()

    def _counted(self) -> None:
        if self._text[self._at + 1] not in DIGITS:
            raise BadPatternError
        self._at += 1
        least, char = self._number()
        most = least
        if char == ",":
            char = self._peek()
            if char == "}":
                most = _MAX_INT
                self._read()
            else:
                most, char = self._number()
        if char != "}" or most < least:
            raise BadPatternError
        self._is_endless |= most == _MAX_INT

    def _number(self) -> tuple[int, str]:
        """Read a number; return it and the character after it."""
        number = 0
        while (char := self._read()) in DIGITS:
            number = number * 10 + int(char)
            if number > _MAX_INT:
                raise BadPatternError
        return number, char

    def _group(self) -> bool:
        """Read a group; return False if it only sets flags for the rest."""
        flags, was_endless = self._flags, self._is_endless
        self._is_endless, kind = False, ""
        if self._next() == "?":
            kind = self._skip()
            if kind == "<":
                kind += self._read()
                if kind not in ("<=", "<!"):
                    self._name_group(kind[1:])
            elif kind not in (":", "=", "!", ">"):
                self._at -= 1
                if self._set_flags():
                    self._is_endless = was_endless
                    return False
        self._alternatives()
        if self._read() != ")":
            raise BadPatternError
        self._flags = flags
        if kind in ("<=", "<!") and self._is_endless:
            raise BadPatternError
        is_around = kind in ("=", "!", "<=", "<!")
        # How a group that is repeated is matched decides whether it has an end; here it never has one.
        repeats = self._is_endless or self._peek() == "{"
        self._is_endless = was_endless or (repeats and not is_around)
        return True

    def _name_group(self, first: str) -> None:
        name = self._name(first)
        if name in self._names:
            raise BadPatternError
        self._names.add(name)

    def _set_flags(self) -> bool:
        """Read flags; return True if the group does nothing else."""
        flags, removes = set(self._flags), False
        char = self._peek()
        while char in _FLAGS or (char == "-" and not removes):
            if char == "-":
                removes = True
            elif removes:
                flags.discard(char)
            else:
                flags.add(char)
            self._flags = frozenset(flags)
            char = self._next()
        char = self._read()
        if char not in "):":
            raise BadPatternError
        return char == ")"

    # --- classes

    def _class(self, *, is_bracketed: bool) -> None:
        """Read a class from its bracket on, or after `&&` up to the end of the outer class."""
        self._depth += 1
        if self._depth > _MOST_NESTED:
            raise BadPatternError
        has_any = False
        char = self._next()
        while True:
            if char == "^" and self._text[self._at - 1] == "[":
                char = self._next()
                continue
            if char == "[":
                self._class(is_bracketed=True)
                has_any, char = True, self._peek()
                continue
            if char == "&":
                if self._next() == "&":
                    has_any = self._intersection(has_any=has_any)
                    char = self._peek()
                    continue
                self._at -= 1
            elif char == END and self._at >= self._length:
                raise BadPatternError
            elif char == "]" and has_any:
                if is_bracketed:
                    self._next()
                self._depth -= 1
                return
            self._range()
            has_any, char = True, self._peek()

    def _intersection(self, *, has_any: bool) -> bool:
        char, has_right = self._next(), False
        while char not in "]&":
            if char != "[":
                self._at -= 1
            self._class(is_bracketed=char == "[")
            has_right, char = True, self._peek()
        if not has_any and not has_right:
            raise BadPatternError
        return True

    def _range(self) -> None:
        self._count()
        first = self._of_class(is_range=False)
        if first == MANY or self._peek() != "-" or self._text[self._at + 1] in "[]":
            return
        self._next()
        if self._of_class(is_range=True) < first:
            raise BadPatternError

    def _of_class(self, *, is_range: bool) -> int:
        char = self._peek()
        if char != "\\":
            self._next()
            return ord(char)
        following = self._text[self._at + 1]
        if following in "pP" and not is_range:
            self._at += 1
            self._property()
            return MANY
        is_range = is_range or self._text[min(self._at + 2, self._length)] == "-"
        return self._escape(in_class=True, is_range=is_range)
