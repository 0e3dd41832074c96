"""The valid prefix of one log, found in the same pass that verifies the log.

Decides: when another pass is needed: if only the whole log shows which epochs or checkpoints are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping

from metadata_log.files.port import Files
from metadata_log.storage.checkpoint import Checkpoint
from metadata_log.tools.prefix.own_epochs import OwnEpochs
from metadata_log.tools.prefix.prefix_builder import PrefixBuilder
from metadata_log.tools.prefix.prefix_parts import NO_HINDSIGHT, NONE_MISNAMED, Epochs, Hindsight
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.verify.checkpoint import ReadCheckpoint, verify_read_checkpoint
from metadata_log.tools.verify.depth import Depth
from metadata_log.tools.verify.file_names import is_beyond_offsets
from metadata_log.tools.verify.log_facts import LogFacts, voter_sets
from metadata_log.tools.verify.log_verification import Verification
from metadata_log.tools.verify.voters import against_own_log


def read_prefix(
    files: Files,
    directory: str,
    own: OwnEpochs,
    until: int | None = None,
    misnamed: Mapping[str, str] = NONE_MISNAMED,
) -> ValidPrefix:
    """Return the prefix without verifying the log. `until`, `misnamed`: see `PrefixBuilder`.

    Raises:
        OSError: a file cannot be read.
    """
    builder = PrefixBuilder(files, directory, Epochs(own=own), until, misnamed)
    builder.read_segments()
    builder.finish()
    return builder.prefix()


def facts_and_prefix(files: Files, directory: str, source: NodeSource, own: OwnEpochs) -> tuple[LogFacts, ValidPrefix]:
    """Verify the bytes of a log, and return the facts and its prefix.

    Raises:
        OSError: the directory cannot be listed, or a file cannot be read.
    """
    read: dict[str, ReadCheckpoint] = {}

    def verify(path: str, whole: Checkpoint) -> None:
        read[path] = verify_read_checkpoint(path, whole.batches, source.node_id, Depth.PREFIX)

    builder = PrefixBuilder(files, directory, Epochs(own=own), on_checkpoint=verify)
    facts = Verification(
        files,
        directory,
        source,
        depth=Depth.PREFIX,
        probes=builder.stops,
        listeners=(builder,),
        read=read,
        denied=own.misnamed,
    ).run()
    late = next((election.offset for election in facts.elections if election.is_late), None)
    hindsight = Hindsight(false_starts=facts.false_starts, late_leader=late)
    misnamed = {**facts.misnamed, **own.misnamed}
    epochs = Epochs(own=own, hindsight=hindsight)
    # Checks skip segments whose names state impossible offsets, but the prefix must end before them.
    if hindsight != NO_HINDSIGHT or misnamed or any(map(is_beyond_offsets, files.listdir(directory))):
        builder = PrefixBuilder(files, directory, epochs, misnamed=misnamed)
        builder.read_segments()
    builder.finish()
    suspects = frozenset(found.file for found in facts.findings if found.file is not None)
    prefix = builder.prefix(facts.elections, voter_sets(facts), suspects)
    denied = _denied(facts, source)
    if prefix.origin is None or prefix.origin.name not in denied:
        return facts, prefix
    builder = PrefixBuilder(files, directory, epochs, misnamed=misnamed, denied=denied)
    builder.read_segments()
    builder.finish()
    without = builder.prefix(facts.elections, voter_sets(facts), suspects)
    return facts, prefix if without.state is None else without


def _denied(facts: LogFacts, source: NodeSource) -> dict[str, str]:
    """Return the checkpoints that name another quorum than the log does at their end, each with the difference."""
    found = against_own_log(facts, source.node_id)
    return {one.file.rpartition("/")[2]: one.meaning for one in found if one.file is not None}
