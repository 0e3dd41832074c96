"""Facts of one directory that `kraft check` and `kraft recover` both find, each with its sentence.

Decides: the sentences. Must not know: how the facts are found, and what to do about them.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from metadata_log.ids import DirectoryId, id_text


class VoterRestored(msgspec.Struct, frozen=True, kw_only=True):
    """A voter that knows of no epoch as late as one in which, by another's log, it led or voted.

    Attributes:
        knows_epoch: the latest in its directory.
        acted_epoch, began_at: the later one, and the offset of its LeaderChange.
        voted_for: the leader whom it elected; None: it led.
        shown_by: the replica whose log shows that.
    """

    kind: ClassVar[str] = "voter_set_back"
    knows_epoch: int
    acted_epoch: int
    began_at: int
    voted_for: int | None
    shown_by: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"it {self.predicate()}"

    def predicate(self) -> str:
        """Return the sentence without its subject."""
        did = "led" if self.voted_for is None else f"voted for node {self.voted_for} in"
        return (
            f"knows of no epoch after {self.knows_epoch}, but {did} epoch {self.acted_epoch}, which began at offset "
            f"{self.began_at} (by the log of {self.shown_by}): it was set back to an older copy, or copied before that "
            "and the others later"
        )


class ForeignDirectory(msgspec.Struct, frozen=True, kw_only=True):
    """A directory whose meta.properties has one node's id, and a directory id that the log knows as another's."""

    kind: ClassVar[str] = "foreign_node"
    node_id: int
    directory_id: DirectoryId
    owner: int

    def meaning(self) -> str:
        """Return the sentence."""
        directory = id_text(self.directory_id)
        return f"it is of node {self.node_id}, but the log knows directory {directory} as one of node {self.owner}"
