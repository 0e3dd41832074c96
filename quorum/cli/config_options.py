"""What the options of `kraft configs` stand for.

Decides: how configs to set and to remove are written, as kafka-configs has them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from quorum.cli.errors import wrong_use

_PAIR: Final = re.compile(r"\s*([^=,\s]+)\s*=\s*(?:\[([^\]]*)\]|([^,]*))\s*(?:,|$)")


def parse_added(texts: Iterable[str]) -> dict[str, str]:
    """`name=value,name=[a,b]`, as kafka-configs writes it.

    Raises:
        CliError: it is not written so, or a name is given twice.
    """
    found: dict[str, str] = {}
    for text in texts:
        at = 0
        while at < len(text):
            match = _PAIR.match(text, at)
            if match is None:
                raise wrong_use(f"--add-config {text}: {text[at:]!r} is not name=value; write name=[a,b] for a list")
            name, several, one = match.groups()
            if name in found:
                raise wrong_use(f"--add-config {text}: {name} is given twice")
            found[name] = several if several is not None else one.strip()
            at = match.end()
    return found


def parse_deleted(texts: Iterable[str]) -> tuple[str, ...]:
    """`name,name`.

    Raises:
        CliError: a name is empty.
    """
    names = [name.strip() for text in texts for name in text.split(",")]
    if not all(names):
        raise wrong_use("--delete-config: a name is empty: write name,name")
    return tuple(dict.fromkeys(names))
