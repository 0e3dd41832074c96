"""Which node a directory is, by its place among its peers' directories, where its own files do not say.

Decides: when a path tells a node id: it differs from the paths of at least two known nodes in one number alone, which
with them is the node id. Must not know: files. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_NUMBERED: Final = re.compile(r"(?P<before>.*?)(?P<number>0|[1-9]\d{0,9})(?P<after>\D*)", re.ASCII)
_LEAST_PEERS: Final = 2


def id_among_peers(path: Path, peers: Mapping[Path, int]) -> int | None:
    """The node id that `path` tells beside `peers`, whose ids are known; None where it tells none, or one of theirs."""
    parts = path.absolute().parts
    for index, part in enumerate(parts):
        numbered = _NUMBERED.fullmatch(part)
        if numbered is None:
            continue
        told = [
            _number(peer.absolute().parts, parts, index, numbered["before"], numbered["after"]) == node_id
            for peer, node_id in peers.items()
            if _number(peer.absolute().parts, parts, index, numbered["before"], numbered["after"]) is not None
        ]
        number = int(numbered["number"])
        if len(told) >= _LEAST_PEERS and all(told) and number not in peers.values():
            return number
    return None


def _number(peer: tuple[str, ...], parts: tuple[str, ...], index: int, before: str, after: str) -> int | None:
    """The number that `peer` has where `parts` has its own, if all else is the same."""
    if len(peer) != len(parts) or peer[:index] != parts[:index] or peer[index + 1 :] != parts[index + 1 :]:
        return None
    numbered = _NUMBERED.fullmatch(peer[index])
    if numbered is None or (numbered["before"], numbered["after"]) != (before, after):
        return None
    return int(numbered["number"])
