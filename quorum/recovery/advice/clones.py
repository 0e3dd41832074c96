"""A clone of a cluster: it has a new cluster id, but the first cluster's voters and addresses in its log.

Decides: whether copies are a clone, and how the advice changes: nothing may be done to the first cluster. Must not
know: which repair gives the clone a quorum.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from metadata_log.voters import CONTROLLER_LISTENER, Endpoint
from quorum.recovery.advice.commands import endpoint_words, inspect_line
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.accepted_loss import Cloned
from quorum.recovery.journal.next_steps import Step


def clone_of(known: RepairEvidence) -> Cloned | None:
    """Return the origin of these copies, until an election or another repair has followed the change of id; or None.

    The audit files of `kraft recover cluster-id` show it. The log that names the voters must have the same voters as
    one of
    those directories: another directory may have been repaired already.
    """
    for copy in known.copies:
        clone = copy.audited.cloned
        if clone is not None and not _has_gone_on(copy, clone) and copy.voters == known.best_with_metadata.voters:
            return clone
    return None


def _has_gone_on(copy: Copy, clone: Cloned) -> bool:
    if clone.epoch is None:  # of a release whose audit files lack it
        return any(done.new_epoch is not None for done in copy.audited.accepted)
    return copy.end.epoch > clone.epoch


def clone_remark(known: RepairEvidence) -> str:
    """Return the sentence after the situation; empty if these copies are no clone."""
    sentence = sentence_of_clone(known)
    return "" if sentence is None else f" {sentence}."


def sentence_of_clone(known: RepairEvidence) -> str | None:
    """Return a sentence, without its period, that names the first cluster, or None."""
    clone = clone_of(known)
    if clone is None:
        return None
    where = "in the configuration" if known.best_with_metadata.voters is None else "in the log"
    return (
        f"This is a clone of cluster {clone.first} (kraft recover cluster-id, {clone.at}): the voters' addresses "
        f"{where} are that cluster's. Whatever answers there is not this clone's: do not touch it"
    )


def fence_of_clone(known: RepairEvidence, clone: Cloned) -> Step:
    """Return the step that isolates a clone instead of the lost voters: their addresses are the first cluster's."""
    absent = ", ".join(map(str, known.absent_voters))
    others = (
        f". Were volumes of voters {absent} cloned, too, give them this cluster id, and name them" if absent else ""
    )
    return Step(
        text=f"Cut this clone off from cluster {clone.first} (firewall), and stop nothing of that cluster: it goes on. "
        f"See that no other controller of the clone runs or can start from its cloned volume{others}"
    )


def own_address(known: RepairEvidence, chosen: Copy) -> list[str]:
    """Return `--endpoint` for a clone that becomes the only voter, or for a copy that is no voter in its own log."""
    if chosen.voters is None:
        return []
    is_named = any(one.key.node_id == chosen.node_id for one in chosen.voters)
    if is_named and clone_of(known) is None:
        return []
    own = next((one for one in chosen.voters if one.key.node_id == chosen.node_id), chosen.voters.voters[0])
    return endpoint_words([endpoint.name for endpoint in own.endpoints] or [CONTROLLER_LISTENER])


def moved_clone(known: RepairEvidence) -> str | None:
    """Return the text about new addresses if a majority of the voters was cloned, or None."""
    clone = clone_of(known)
    if clone is None:
        return None
    return (
        f"Cut the clones off from cluster {clone.first} (firewall), and stop nothing of that cluster. Then, before "
        "anything starts, write the clones' own addresses into all of them; leave that out only where they have a "
        "network of their own with the same addresses"
    )


def addresses_of_first(known: RepairEvidence) -> Iterator[str]:
    """Yield a sentence against a start: a node would connect to the first cluster's voters."""
    sentence = sentence_of_clone(known)
    if sentence is not None and known.best_with_metadata.voters is not None:
        yield (
            f"{sentence}. Before anything starts, write the clone's own addresses into it: {inspect_line(known)} "
            "prints the commands. A clone on an isolated network with the same addresses can start as it is"
        )


def of_the_clone(known: RepairEvidence) -> str:
    """Return the words that limit a step for other controllers to those of the clone; empty without a clone."""
    clone = clone_of(known)
    return "" if clone is None else f"; those of the clone: nothing is done to cluster {clone.first}"


def clone_notes(known: RepairEvidence, writes: Iterable[Endpoint]) -> Iterator[str]:
    """Yield sentences about a repair of a clone. `writes`: the addresses that it gives to voters."""
    clone = clone_of(known)
    if clone is None:
        return
    held = known.endpoints()
    kept = [str(one) for one in writes if one in held]
    if kept:
        yield (
            f"{', '.join(kept)}: this address belongs to a voter of cluster {clone.first}, of which this is a clone. "
            "Unless the clone has an isolated network, give it another address (--endpoint, or --set)"
        )
    yield f"controllers are those of the clone here: stop and change nothing of cluster {clone.first}"
