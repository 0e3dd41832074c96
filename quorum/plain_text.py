"""Text of others, of which nothing is obeyed by a terminal and nothing gets lost: what is not seen is escaped.

Decides: which characters, and how. Must not know: where the text is shown.
"""

from __future__ import annotations

import re
from typing import Final

_FORMATS: Final = (
    "\u00ad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
"""Unicode's formats (marks of direction, tags), separators, variation selectors, and letters that look like nothing."""
_UNSEEN: Final = re.compile(f"[\0-\x1f\x7f-\x9f{_FORMATS}]")
_WITHIN_A_LINE: Final = re.compile(f"[\0-\x08\x0b-\x1f\x7f-\x9f{_FORMATS}]")
_ON_A_TERMINAL: Final = re.compile(f"[\0-\x08\x0b-\x1f\x7f-\x9f{_FORMATS}\udc80-\udc9f]")


def on_one_line(text: str) -> str:
    """Return the text with what is not seen escaped, as in `\\x1b` or `\\u202e`, and with no line's end in it."""
    return _escaped(_UNSEEN, text)


def plain(text: str) -> str:
    """Return the same of a text that may have several lines."""
    return _escaped(_WITHIN_A_LINE, text)


def for_terminal(text: str) -> str:
    """Return the same of a text that may hold bytes which are no UTF-8, as names of files do."""
    return _escaped(_ON_A_TERMINAL, text)


def _escaped(unseen: re.Pattern[str], text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    return unseen.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDC9F:  # a byte that is no UTF-8
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
