"""The node id of a directory without meta.properties, by its path beside its peers' paths.

Decides: when a path shows a node id. It must differ from the paths of at least two known nodes in one number only. In
their paths, that number must be the node id. Must not know: files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_NUMBERED: Final = re.compile(r"(?P<before>.*?)(?P<number>0|[1-9]\d{0,9})(?P<after>\D*)", re.ASCII)
_LEAST_PEERS: Final = 2


def id_among_peers(path: Path, peers: Mapping[Path, int]) -> int | None:
    """Return the node id that `path` shows beside `peers` (path to node id), or None if it shows none or a peer's."""
    parts = path.absolute().parts
    for index, part in enumerate(parts):
        numbered = _NUMBERED.fullmatch(part)
        if numbered is None:
            continue
        agree = [
            _number(peer.absolute().parts, parts, index, numbered["before"], numbered["after"]) == node_id
            for peer, node_id in peers.items()
            if _number(peer.absolute().parts, parts, index, numbered["before"], numbered["after"]) is not None
        ]
        number = int(numbered["number"])
        if len(agree) >= _LEAST_PEERS and all(agree) and number not in peers.values():
            return number
    return None


def _number(peer: tuple[str, ...], parts: tuple[str, ...], index: int, before: str, after: str) -> int | None:
    """Return the number of `peer` at the part `index`, or None if the paths differ elsewhere."""
    if len(peer) != len(parts) or peer[:index] != parts[:index] or peer[index + 1 :] != parts[index + 1 :]:
        return None
    numbered = _NUMBERED.fullmatch(peer[index])
    if numbered is None or (numbered["before"], numbered["after"]) != (before, after):
        return None
    return int(numbered["number"])
