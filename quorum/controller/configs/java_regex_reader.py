"""The characters of a Java regular expression, and the meaning of its escapes.

Decides: where an escape ends, and whether it is valid. Must not know: groups, classes and repetitions (`java_regex`).
The methods follow java.util.regex.Pattern of Java 17; often their effect is the new position, not the result.
"""

from __future__ import annotations

from typing import Final

from quorum.controller.configs.java_char_properties import is_property

_LAST_CODE_POINT: Final = 0x10FFFF
_SPACES: Final = frozenset(" \t\n\v\f\r")
_LINEENDS: Final = frozenset("\n\r\x85\u2028\u2029")
_ALNUM: Final = frozenset("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
DIGITS: Final = frozenset("0123456789")
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_OCTAL: Final = frozenset("01234567")
_CONTROLS: Final = {"a": 7, "e": 27, "f": 12, "n": 10, "r": 13, "t": 9}
_ANYWHERE: Final = frozenset("DHSVWdhsvw")
_OUTSIDE_CLASSES: Final = frozenset("123456789ABGRXZbkz")
MANY: Final = -1
"""The result of an escape that means more than one character."""
END: Final = "\0"


class BadPatternError(Exception):
    """The text is not a valid pattern."""


class Reader:
    """A position in a pattern."""

    def __init__(self, pattern: str) -> None:
        self._text = pattern + END + END
        self._length = len(pattern)
        self._at = 0
        self._flags: frozenset[str] = frozenset()
        self._names: set[str] = set()
        self._is_endless = False
        """True if the part of the open group that was read has no longest match."""

    # --- characters; with the flag x, blanks and comments are skipped

    def _skip_comments(self, at: int) -> int:
        text = self._text
        while text[at] in _SPACES or text[at] == "#":
            if text[at] == "#":
                ends = "\n" if "d" in self._flags else _LINEENDS
                while text[at] != END and text[at] not in ends:
                    at += 1
            else:
                at += 1
        return at

    def _peek(self) -> str:
        if "x" in self._flags:
            self._at = self._skip_comments(self._at)
        return self._text[self._at]

    def _next(self) -> str:
        self._at = min(self._at, self._length) + 1
        return self._peek()

    def _read(self) -> str:
        found = self._peek()
        self._at = min(self._at, self._length) + 1
        return found

    def _skip(self) -> str:
        """Skip a character, and return the next one."""
        found = self._text[min(self._at, self._length) + 1]
        self._at = min(self._at + 2, self._length + 1)
        return found

    # --- escapes

    def _name(self, first: str) -> str:
        if first not in _ALNUM or first in DIGITS:
            raise BadPatternError
        name = [first]
        while (char := self._read()) in _ALNUM:
            name.append(char)
        if char != ">":
            raise BadPatternError
        return "".join(name)

    def _property(self) -> None:
        if self._next() != "{":
            name = self._text[self._at]
            self._read()
        else:
            start = self._at + 1
            end = self._text.find("}", start)
            if end <= start:
                raise BadPatternError
            name, self._at = self._text[start:end], end + 1
        if not is_property(name, is_unicode="U" in self._flags):
            raise BadPatternError

    def _escape(self, *, in_class: bool, is_range: bool = False) -> int:
        """Read an escape; return its character, or MANY."""
        char = self._skip()
        if char not in _ALNUM:
            return ord(char)
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "v" and is_range:
            return 0x0B
        if char in _ANYWHERE:
            return MANY
        if char in _OUTSIDE_CLASSES and not in_class:
            return self._of_sequence(char)
        if char in "0xuc":
            return {"0": self._octal, "x": self._hex, "u": self._utf16, "c": self._control}[char]()
        raise BadPatternError

    def _of_sequence(self, char: str) -> int:
        self._is_endless |= char in "123456789kX"
        if char == "b" and self._peek() == "{" and self._text[self._at + 1] == "g":
            self._skip()
            if self._read() != "}":
                raise BadPatternError
        if char == "k" and (self._read() != "<" or self._name(self._read()) not in self._names):
            raise BadPatternError
        return MANY

    def _octal(self) -> int:
        digits = ""
        while len(digits) < (3 if digits[:1] in "0123" else 2) and self._peek() in _OCTAL:
            digits += self._read()
        if not digits:
            raise BadPatternError
        return int(digits, 8)

    def _hex(self) -> int:
        first = self._read()
        if first in _HEX:
            return int(first + self._digit(), 16)
        if first != "{" or self._peek() not in _HEX:
            raise BadPatternError
        number = 0
        while (char := self._read()) in _HEX:
            number = number * 16 + int(char, 16)
            if number > _LAST_CODE_POINT:
                raise BadPatternError
        if char != "}":
            raise BadPatternError
        return number

    def _digit(self) -> str:
        found = self._read()
        if found not in _HEX:
            raise BadPatternError
        return found

    def _utf16(self) -> int:
        found = self._unit()
        if 0xD800 <= found < 0xDC00:
            start = self._at
            if self._read() == "\\" and self._read() == "u" and 0xDC00 <= (low := self._unit()) < 0xE000:
                return 0x10000 + ((found - 0xD800) << 10) + (low - 0xDC00)
            self._at = start
        return found

    def _unit(self) -> int:
        return int("".join(self._digit() for _ in range(4)), 16)

    def _control(self) -> int:
        if self._at >= self._length:
            raise BadPatternError
        return ord(self._read()) ^ 64
