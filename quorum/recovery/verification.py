"""Checks repaired directories before a node starts from them.

Decides: the conditions under which directories form one quorum. Must not know: how they were repaired. Checks that hold
for any log are made by `metadata_log.tools`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from metadata_log.directory import PARTITION_METADATA_FILE
from metadata_log.errors import CorruptFileError
from metadata_log.files.port import Files
from metadata_log.image import UnwritableMetadataError
from metadata_log.image.hash import image_hash
from metadata_log.image.older_release import STARTED_BY
from metadata_log.tools.findings.finding import Cause, Finding, is_well
from metadata_log.tools.words import capital
from metadata_log.voters import majority_of
from quorum.recovery.advice.clones import addresses_of_first, sentence_of_clone
from quorum.recovery.advice.commands import bring_back, brokers_of, is_ours, undo_line
from quorum.recovery.advice.directory_transfer import homes_of, take_home
from quorum.recovery.advice.discarded_records import danger, discarded_records, elsewhere, endangered, is_fetched_again
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.advice.newer_release import not_checked
from quorum.recovery.advice.obstacles import undo_lines, with_repair
from quorum.recovery.advice.running_nodes import use_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.electable import elects, unreached
from quorum.recovery.evidence.judged_records import judged_evidence
from quorum.recovery.evidence.other_disks import other_disks
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.inspection import Unjudged, read_each
from quorum.recovery.journal.next_steps import Step
from quorum.recovery.journal.repair_record import again, pending
from quorum.recovery.repairs.follow_up import steps_left
from quorum.recovery.repairs.undo import with_undoable


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """One directory. A node can start from it if `problems` is empty."""

    path: str
    node_id: int | None
    end_offset: int
    epoch: int
    voters: tuple[str, ...]
    hash: str | None
    problems: tuple[str, ...]


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """All directories: the problems of each alone and of all together, what was left out, and the next steps.

    `warnings`: metadata that is lost although all of them may be started; and directories in use.
    `notes`: what the next start repairs without a command, in the directories `unfinished`; and parts of a later
    release. `unreached`: directories that a repair of the others has not reached, or in which it was undone; and those
    that are not authoritative.
    """

    directories: tuple[Verified, ...]
    problems: tuple[str, ...]
    steps: tuple[Step, ...]
    left_out: tuple[Unjudged, ...] = ()
    warnings: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()
    impossible: tuple[str, ...] = ()
    """Directories with a record that no controller writes, and that no quorum is shown to have run with."""
    is_older: bool = False
    """Kafka before 3.3-IV3 wrote them, so that only its own controllers start from them."""

    def explains(self, found: Finding) -> bool:
        """Return True if a finding of `kraft check` is already covered here, together with what to do about it."""
        if _warning_of(found) in self.warnings:
            return True
        covered = {"voter_set_back": self.unreached, "torn_tail": self.unfinished}.get(found.kind, ())
        return any((found.file or "").startswith(f"{path}/") for path in covered)

    def beside(self, checked: Iterable[Finding]) -> tuple[Verification, list[Finding]]:
        """Add the findings of `kraft check` that are not covered here.

        Those that do not prevent a start become warnings. The second result has the others.
        """
        counted = [one for one in checked if one.counts and not self.explains(one)]
        harmless = [one for one in counted if self._allows_start(one)]
        warnings = map(_warning_of, harmless)
        wrong = [one for one in counted if one not in harmless]
        return msgspec.structs.replace(self, warnings=(*self.warnings, *warnings)), wrong

    def _allows_start(self, found: Finding) -> bool:
        """Return True if a node starts despite the finding: the log is undamaged, or holds a strange record.

        A record that no controller writes bars the start only of the directories `impossible`. A node writes a missing
        `partition.metadata` again.
        """
        if found.kind == "missing_file" and (found.file or "").endswith(f"/{PARTITION_METADATA_FILE}"):
            return True
        if found.cause is not Cause.RECORDS:
            return is_well([found])
        is_barred = any((found.file or "").startswith(f"{path}/") for path in self.impossible)
        return not (found.bars_start and is_barred)

    @property
    def is_sound(self) -> bool:
        """Return True if they may be started."""
        return not self.problems and not self.left_out and not any(found.problems for found in self.directories)


def _warning_of(found: Finding) -> str:
    return f"{found.file or ''}: {found.meaning}. {capital(found.advice)}"


def verify_directories(files: Files, paths: Sequence[str]) -> Verification:
    """Check directories of one quorum together. The result lists those that cannot be judged or are of another cluster.

    Raises:
        MetadataLogError, OSError: none can be checked. For a single path: the reason why it cannot.
    """
    reading = read_each(files, paths)
    known = with_undoable(files, judged_evidence(files, reading.copies))
    by_place = {copy.place.metadata: copy for copy in known.copies}
    copies = [by_place[copy.place.metadata] for copy in reading.copies]
    found = tuple(_verified(files, known, copy) for copy in copies)
    half = unreached(known)
    torn = [copy for copy in copies if copy.stop is not None and copy.stop.is_torn and copy.place.manifest is None]
    verification = Verification(
        directories=found,
        problems=tuple(_together(files, known)),
        steps=(),
        left_out=reading.unjudged,
        warnings=tuple(_warnings(known)),
        unreached=(
            *(() if half is None else (copy.place.log_dir for copy in half[1])),
            *(one.copy.place.log_dir for one in known.stale),
        ),
        notes=(
            *(f"{copy.label} ends in an unfinished write: the next start cuts it off: {copy.stop}" for copy in torn),
            *not_checked(copies),
            *dict.fromkeys(f"{copy.why_older}. {STARTED_BY}" for copy in copies if copy.why_older is not None),
        ),
        impossible=tuple(copy.place.log_dir for copy in copies if copy.impossible is not None),
        is_older=any(copy.why_older is not None for copy in copies),
        unfinished=tuple(copy.place.log_dir for copy in (*torn, *known.in_use)),
    )
    if not verification.is_sound:
        return verification
    voters = known.best_with_metadata.voters
    electing = [copy for copy in copies if elects(known, copy)]
    homes = homes_of(electing, voters, brokers_of(known)) if len(electing) > 1 else []
    left = steps_left(files, known, electing or copies)
    steps = left or [*take_home(homes), bring_back(is_ours(voters), len(copies))]
    return msgspec.structs.replace(verification, steps=tuple(steps))


def _verified(files: Files, known: RepairEvidence, copy: Copy) -> Verified:
    return Verified(
        path=copy.place.log_dir,
        node_id=copy.node_id,
        end_offset=int(copy.end.offset),
        epoch=int(copy.end.epoch),
        voters=() if copy.voters is None else tuple(map(str, copy.voters)),
        hash=_hash(copy),
        problems=tuple(_problems(files, known, copy)),
    )


def _hash(copy: Copy) -> str | None:
    if copy.state is None or copy.newer:
        return None
    try:
        return image_hash(copy.state.image, copy.kraft_version, copy.state.quorum.voters).hex
    except UnwritableMetadataError:
        return None


def _problems(files: Files, known: RepairEvidence, copy: Copy) -> Iterator[str]:
    try:
        record = pending(files, copy.place.log_dir)
    except CorruptFileError as error:
        yield str(error)
        record = None
    if record is not None:
        yield f"a repair of {record.at} is not finished: run it again with --apply: {again(record, copy.place.log_dir)}"
    fault = fault_of(copy)
    if fault is not None:
        yield fault
    if copy.place.manifest is not None:
        return
    state = copy.quorum_state
    if state is not None and state.leader_epoch < copy.end.epoch:
        yield f"its quorum-state is of epoch {state.leader_epoch}, but its log of epoch {copy.end.epoch}"
    yield from (str(one) for one in other_disks(known) if one.copy is copy)


def _together(files: Files, known: RepairEvidence) -> Iterator[str]:
    yield from (
        f"{conflict}: {conflict.cause}; start none of them, and see kraft recover inspect"
        for conflict in known.conflicts
    )
    yield from (f"{pair}; start none of them, and see kraft recover inspect" for pair in known.uncompared)
    yield from _reached(files, known)
    yield from addresses_of_first(known)
    risky = endangered(known)
    if risky:
        dirs = dict.fromkeys(one.copy.place.log_dir for one in risky)
        lines = "; ".join(str(undo_line(path)) for path in dirs if path in known.undoable)
        back = f" before. This takes the loss back: {lines}" if lines else " of them, and see kraft recover inspect"
        yield f"{danger(known, risky)}; start none{back}"
    yield from (f"{one}: start nothing from it as it is, and see kraft recover inspect" for one in known.stale)
    later = next(filter(None, (copy.newer_voters for copy in known.copies)), None)
    if later is not None:
        yield f"the voters cannot be read: the log has {later}. Start the controllers with the release that wrote it"
        return
    elected = [copy for copy in known.copies if known.is_authoritative(copy)]
    if known.undecided is not None and not known.has_majority(elected):
        yield f"too few voters are here to elect a leader: {known.undecided}"
    elif known.voters and not known.has_majority(elected):
        here = f"{len({copy.node_id for copy in elected})} of {len(known.voters)}"
        yield f"{here} voters are here, and {majority_of(len(known.voters))} must start to elect a leader"


def _warnings(known: RepairEvidence) -> Iterator[str]:
    yield from (str(one) for one in discarded_records(known) if not is_fetched_again(known, one))
    yield from elsewhere(known)
    yield from map(_warning_of, known.unbarred)
    if known.best_with_metadata.voters is None:
        yield from filter(None, [sentence_of_clone(known)])
    yield from (said for copy in known.copies for said in copy.audited.unread)
    for copy in known.in_use:
        yield (
            f"{copy.label} is {use_of(copy)}, so its log may still change. Stop it, and verify again, before anything "
            "is started or repaired"
        )


def _reached(files: Files, known: RepairEvidence) -> Iterator[str]:
    """Yield problems of copies that would elect without the repair's epoch, or with other voters or addresses."""
    half = unreached(known)
    is_repaired = any(copy.repair is not None for copy in known.copies)
    ends = (
        "run the repair again on all of them with --apply, or undo it in each directory that has it; start none before"
    )
    behind: tuple[Copy, ...] = ()
    if half is not None:
        done, behind = half
        yield from _left_alone(known, done, behind)
        yield from _half_done(known, done, [copy for copy in behind if _goes_on(known, done, copy) is None], ends)
    electing = [copy for copy in known.copies if elects(known, copy)]
    first = next((copy for copy in electing if copy.voters is not None), None)
    if first is not None:
        others = [copy.label for copy in electing if copy.voters != first.voters and copy not in behind]
        if others and is_repaired:  # without a repair they lag behind a change, and learn of it from the leader
            yield f"{', '.join(others)} names other voters, or other addresses of them, than {first.label}: {ends}"
    static = {copy.static_voters for copy in electing if copy.kraft_version == 0 and copy.static_voters}
    if len(static) > 1:
        said = "; ".join(f"{copy.label}: {', '.join(map(str, copy.static_voters))}" for copy in electing)
        if not is_repaired:
            ends = "give them all the same controller.quorum.voters before they start (kraft recover static-voters)"
        yield f"quorum-state names different static voters ({said}): {ends}"


def _goes_on(known: RepairEvidence, done: Copy, copy: Copy) -> Copy | None:
    """Return another directory of the same node that has the repair which `copy` lacks, or None."""
    begun = -1 if done.repair is None else int(done.repair.epoch)
    same = (one for one in known.copies if one.end.epoch >= begun and one.node_id == copy.node_id)
    return next(same, None)


def _left_alone(known: RepairEvidence, done: Copy, behind: Sequence[Copy]) -> Iterator[str]:
    """Yield sentences about older copies of nodes that go on from another directory: no repair needs to reach these."""
    for copy in behind:
        new = _goes_on(known, done, copy)
        if new is not None:
            yield (
                f"{copy.place.log_dir} is an older copy of node {copy.node_id}, which goes on from "
                f"{new.place.log_dir}: leave it alone, never start from it, and verify the others without it"
            )


def _half_done(known: RepairEvidence, done: Copy, behind: Sequence[Copy], ends: str) -> Iterator[str]:
    if not behind:
        return
    begun = -1 if done.repair is None else int(done.repair.epoch)
    names = ", ".join(copy.label for copy in behind)
    what = f"the repair that began epoch {begun} on {done.label} has not reached {names}, or was undone there"
    lines = undo_lines(known, with_repair(known, done))
    if done.audited.accepted and not lines:
        yield (
            f"{what}. It cannot be undone: a node has run there, or its backup is gone. Never start {names} with the "
            "voters from before the repair: format it again, and let it join those that go on"
        )
        return
    if len(done.static_voters if done.voters is None else done.voters.voters) == 1:
        ends = f"never start {names} as they are: format them, and let them join {done.label}; or undo the repair"
    yield f"{what}: {ends}{'. This undoes it: ' if lines else ''}{'; '.join(map(str, lines))}"
