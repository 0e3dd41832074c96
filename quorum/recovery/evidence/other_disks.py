"""Copies that are no voter's directory, although their `node.id` is a voter's.

A voter is a replica key: only the directory with its directory.id has the vote. Another disk of that node has none. The
log may also know the directory.id as another node's.

Decides: which copies these are, and which voters are here only with such a disk.
"""

from __future__ import annotations

import msgspec

from metadata_log.directory import META_PROPERTIES_FILE
from metadata_log.ids import DirectoryId, id_text
from metadata_log.tools.check.identity import directory_owners, foreign_directory
from metadata_log.tools.findings.facts import ForeignDirectory
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence


class OtherDisk(msgspec.Struct, frozen=True, kw_only=True):
    """A copy of a node that votes with another directory, `voting`."""

    copy: Copy
    voting: DirectoryId

    def __str__(self) -> str:
        identity = self.copy.place.identity
        own = None if identity is None or identity.directory_id is None else id_text(identity.directory_id)
        has = "names no directory.id" if own is None else f"has directory.id {own}"
        return (
            f"{self.copy.label} is not the directory of voter {self.copy.node_id}, and has no vote: that votes with "
            f"{id_text(self.voting)}, and {META_PROPERTIES_FILE} here {has}"
        )


def other_disks(known: RepairEvidence) -> tuple[OtherDisk, ...]:
    """Return all such copies."""
    return tuple(one for copy in known.copies if (one := _other_disk(known, copy)) is not None)


def _other_disk(known: RepairEvidence, copy: Copy) -> OtherDisk | None:
    voters, identity = known.best_with_metadata.voters or copy.voters, copy.place.identity
    if voters is None or identity is None or known.is_voter(copy):
        return None
    named = voters.get(identity.node_id)
    if named is None or named.key.directory_id == identity.directory_id:
        return None
    return OtherDisk(copy=copy, voting=named.key.directory_id)


class OfAnotherNode(msgspec.Struct, frozen=True, kw_only=True):
    """A copy in a directory that the log knows as another node's."""

    copy: Copy
    facts: ForeignDirectory

    def __str__(self) -> str:
        return f"{self.copy.label}: {self.facts.meaning()}"


def of_other_nodes(known: RepairEvidence) -> tuple[OfAnotherNode, ...]:
    """Return all copies in another node's directory. Like `kraft check`, this uses the best metadata that is known."""
    voters = [voter.key for voter in known.best_with_metadata.voters or ()]
    owners = directory_owners(voters, known.best_with_metadata.image)
    named = [(copy, copy.place.identity) for copy in known.copies]
    judged = [(copy, foreign_directory(identity, owners)) for copy, identity in named if identity is not None]
    return tuple(OfAnotherNode(copy=copy, facts=facts) for copy, facts in judged if facts is not None)


def absent_disks(known: RepairEvidence) -> dict[int, DirectoryId]:
    """Return the voters whose own directory is not here, although another directory of their node is."""
    present = {copy.node_id for copy in known.copies if known.is_voter(copy)}
    return {
        int(one.copy.node_id): one.voting
        for one in other_disks(known)
        if one.copy.node_id is not None and one.copy.node_id not in present
    }


def absent_voters(known: RepairEvidence) -> list[int]:
    """Return all voters whose own directory is not here."""
    return sorted({*known.absent_voters, *absent_disks(known)})


def not_here(known: RepairEvidence) -> list[str]:
    """Return the same voters as phrases for a sentence."""
    disks = absent_disks(known)
    return [
        f"voter {node}" if node not in disks else f"voter {node}'s disk (directory {id_text(disks[node])})"
        for node in absent_voters(known)
    ]
