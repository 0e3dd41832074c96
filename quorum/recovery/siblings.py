"""A node's other log directories: those that lie beside one, and those that its broker's registration names.

Decides: which are not among those that are given. Must not know: what is changed in them.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.files.port import Files, parent_of
from metadata_log.ids import DirectoryId, id_text
from quorum.recovery.copies import Copy
from quorum.recovery.places import Place, find_place


class Siblings(msgspec.Struct, frozen=True, kw_only=True):
    """`paths`: log directories of the same nodes and cluster beside the given ones. `elsewhere`: sentences."""

    paths: tuple[str, ...]
    elsewhere: tuple[str, ...]


def siblings_of(files: Files, places: Sequence[Place], copies: Sequence[Copy], *, old: str, new: str) -> Siblings:
    """What the nodes of `places` have besides in cluster `old`; of `new` are those that are done already.

    `copies`: the metadata logs among `places`.
    """
    nodes = {place.node_id for place in places}
    given = {os.path.realpath(place.log_dir) for place in places}
    found: dict[str, Place] = {}
    elsewhere: list[str] = []
    for parent in sorted({parent_of(path) for path in given}):
        try:
            names = sorted(files.listdir(parent))
        except OSError as error:
            elsewhere.append(f"{parent} cannot be listed ({error.strerror or error}): see what lies beside these")
            continue
        for path in (os.path.join(parent, name) for name in names):
            if path not in given and files.exists(f"{path}/{META_PROPERTIES_FILE}"):
                place = find_place(files, path)
                if place.identity is not None and place.identity.cluster_id in (old, new) and place.node_id in nodes:
                    found[path] = place
    seen = {_directory_of(place) for place in (*places, *found.values())}
    elsewhere += _unseen(places, copies, seen)
    due = tuple(path for path, place in found.items() if place.identity is None or place.identity.cluster_id == old)
    return Siblings(paths=due, elsewhere=tuple(dict.fromkeys(elsewhere)))


def _unseen(places: Sequence[Place], copies: Sequence[Copy], seen: set[DirectoryId | None]) -> list[str]:
    """By the registrations of brokers among the nodes of `places`."""
    said = []
    for node_id in sorted({place.node_id for place in places if place.node_id is not None}):
        for copy in copies:
            brokers = (
                {} if copy.image is None else {int(one): broker for one, broker in copy.image.cluster.brokers.items()}
            )
            unseen = [one for one in brokers[node_id].directories if one not in seen] if node_id in brokers else []
            if unseen:
                names = ", ".join(map(id_text, unseen))
                said.append(
                    f"broker {node_id} registered a log directory of id {names}, too, which is not here: it is on "
                    "another disk or host, and the broker does not start while its directories are of two clusters"
                )
    return said


def _directory_of(place: Place) -> DirectoryId | None:
    return None if place.identity is None else place.identity.directory_id
