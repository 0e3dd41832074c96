"""The port for randomness, drawn from the scenario's own generator.

No id is ever drawn twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.simulation.cluster import Cluster


class Entropy:
    """Implements the port; no id is drawn twice."""

    def __init__(self, cluster: Cluster) -> None:
        self._chance = cluster.world.chance

    def draw(self) -> int:
        return self._chance.getrandbits(64)

    def new_id(self) -> bytes:
        return b"\x10" + self._chance.randbytes(15)
