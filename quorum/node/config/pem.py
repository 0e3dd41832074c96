"""PEM text over several lines of a `.properties` file, which Java reads as a key for each line.

Decides: which lines belong to such a text. None of them may be printed: they may be a private key. Must not know: keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from metadata_log.java_properties import Property

_BEGIN: Final = "-----BEGIN "
_END: Final = "-----END "
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")
_LONG: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}\s*")
"""A line that no name of a key looks like: names have dots, or are short."""
_HEADER: Final = re.compile(r"[A-Z][A-Za-z-]+: .*", re.DOTALL)


def is_pem(value: str) -> bool:
    """Return True if the value is PEM text, or the beginning of one."""
    return _BEGIN in value


def without_pem(lines: Iterable[Property]) -> tuple[list[Property], dict[str, str]]:
    """Return the lines that are no part of a PEM text, and by key why its text is broken.

    The key of a text that no key precedes is empty.
    """
    kept: list[Property] = []
    broken: dict[str, str] = {}
    is_within = False
    for line in lines:
        is_within = _goes_on(line.text) if is_within else _begins_without_key(line.text)
        if is_within:
            key = kept[-1].key if kept else ""
            broken.setdefault(key, _why(kept[-1] if kept else line, key))
            is_within = _END not in line.text
            continue
        kept.append(line)
        is_within = _BEGIN in line.value and _END not in line.value
        if is_within:
            broken[line.key] = _why(line, line.key)
    return kept, broken


def _goes_on(text: str) -> bool:
    return _END in text or text.startswith(_BEGIN) or any(part.fullmatch(text) for part in (_BASE64, _HEADER))


def _begins_without_key(text: str) -> bool:
    return text.startswith(_BEGIN) or _LONG.fullmatch(text) is not None


def _why(line: Property, key: str) -> str:
    whose = f"the value of {key} is PEM text" if key else "PEM text"
    return (
        f"line {line.line}: {whose} over several lines, but Java reads each further line as another key: end each line "
        "but the last with \\"
    )
