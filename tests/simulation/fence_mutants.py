"""Planted bugs of the fence by the metadata topic's id."""

from __future__ import annotations

from typing import Final

from tests.simulation.planting import Mutant

FENCE_MUTANTS: Final = (
    Mutant(
        name="the own id is ignored",
        module="quorum.node.core.log_fence",
        was="    if not own.ids:\n        return None\n",
        becomes="    if not own.ids or own.committed_end >= 0:\n        return None\n",
    ),
    Mutant(
        name="a voter refuses an id which it has not replayed",
        module="quorum.node.core.topic_id_fencing",
        was="topic_id == METADATA_TOPIC_ID or self._committed ",
        becomes="topic_id == METADATA_TOPIC_ID or self.cluster_id ",
    ),
    Mutant(
        name="a hold never ends",
        module="quorum.node.core.fence",
        was="            self.held = self._refused_snapshot = None\n",
        becomes="            self._refused_snapshot = None\n",
    ),
    Mutant(
        name="another history of the same id is taken",
        module="quorum.node.core.fence",
        was=", response.has_committed_batch is False\n",
        becomes=", response.has_committed_batch is False and response.diverging is not None\n",
    ),
)
