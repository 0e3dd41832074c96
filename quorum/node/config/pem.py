"""PEM text over several lines of a `.properties` file, of which Java reads each line as a key.

Decides: which lines belong to such a text. They are never printed, because they may be a private key. Must not know:
keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from metadata_log.java_properties import Property

_BEGIN: Final = "-----BEGIN "
_END: Final = "-----END "
_BASE64: Final = re.compile(r"[A-Za-z0-9+/]+={0,2}\s*")
_LONG: Final = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}\s*")
"""A line of base64 that is longer than any key: names of keys have dots, or are short."""
_HEADER: Final = re.compile(r"[A-Z][A-Za-z-]+: .*", re.DOTALL)


def is_pem(value: str) -> bool:
    """Return True if the value is PEM text, or the beginning of one."""
    return _BEGIN in value


class _Text(NamedTuple):
    """A PEM text: the line that its error names, the key that it belongs to, if any, and the number of hidden lines."""

    line: int
    key: str
    hidden: int

    def why(self) -> str:
        """Return the error of a broken text."""
        if not self.key:
            return self._without_key()
        whose = f"line {self.line}: the value of {self.key} is"
        if not self.hidden:
            return (
                f"{whose} the beginning of a PEM text without its end: write the whole text, with \\ at the end of "
                "each line but the last"
            )
        return (
            f"{whose} PEM text over several lines, but Java reads each further line as another key: end each line but "
            "the last with \\"
        )

    def _without_key(self) -> str:
        if self.hidden == 1:
            return f"line {self.line}: PEM text where a key must be: write its key before it, or remove it"
        return (
            f"line {self.line}: PEM text over several lines without a key, but Java reads each as a key: write # "
            "before each line, or the key before the first and \\ at the end of each but the last"
        )


def without_pem(lines: Iterable[Property], is_known: Callable[[str], bool]) -> tuple[list[Property], dict[str, str]]:
    """Return the lines outside of PEM texts, and the error of each broken text by key.

    After BEGIN all lines belong to the text, up to END or the next known key. A text without a key in front has an
    empty key.
    """
    kept: list[Property] = []
    broken: dict[str, _Text] = {}
    is_within = has_begun = False
    for line in lines:
        if has_begun:
            is_within = not is_known(line.key)
        else:
            is_within = _goes_on(line.text) if is_within else _begins_without_key(line.text)
        if is_within:
            owner = kept[-1] if kept and _can_own(kept[-1].value) else None
            key = "" if owner is None else owner.key
            text = broken.get(key) or _Text((owner or line).line, key, 0)
            broken[key] = text._replace(hidden=text.hidden + 1)
            has_begun = _is_open(line.text) or (has_begun and _END not in line.text)
            is_within = has_begun or _END not in line.text
            continue
        kept.append(line)
        is_within = has_begun = _is_open(line.value)
        if has_begun:
            broken[line.key] = _Text(line.line, line.key, 0)
    return kept, {key: text.why() for key, text in broken.items()}


def _is_open(text: str) -> bool:
    return text.rfind(_BEGIN) > text.rfind(_END)


def _can_own(value: str) -> bool:
    """Return True if PEM lines below this value probably belong to its key: it is empty, or PEM text itself."""
    return not value or is_pem(value) or _LONG.fullmatch(value) is not None


def _goes_on(text: str) -> bool:
    return _END in text or text.startswith(_BEGIN) or any(part.fullmatch(text) for part in (_BASE64, _HEADER))


def _begins_without_key(text: str) -> bool:
    return text.startswith((_BEGIN, _END)) or _LONG.fullmatch(text) is not None
