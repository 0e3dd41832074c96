"""Text of others, of which nothing is obeyed by a terminal and nothing gets lost: control characters are escaped.

Decides: how. Must not know: where it is shown.
"""

from __future__ import annotations

from typing import Final

_CONTROL: Final = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
_WITHIN_A_LINE: Final = {code: text for code, text in _CONTROL.items() if chr(code) not in "\n\t"}


def on_one_line(text: str) -> str:
    """Without control characters: each as in `\\x1b`."""
    return text if text.isprintable() else text.translate(_CONTROL)


def plain(text: str) -> str:
    """The same of a text that may have several lines."""
    return text if text.isprintable() else text.translate(_WITHIN_A_LINE)
