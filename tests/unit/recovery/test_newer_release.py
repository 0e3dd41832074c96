"""Recovery on logs that a later release has written: what is known of them, what works, and what is left to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.format.batch import batch_values, parse_header
from metadata_log.ids import DirectoryId
from metadata_log.tools.check.check import check_paths
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.guards.request import Proposal
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.cluster_id import propose_cluster_id
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from quorum.recovery.verification import verify_directories
from tests.support.damage import Cluster, append, copy_cluster, flip, split, with_values, write
from tests.support.newer_logs import NEWER_LOGS, NEWER_NAMES, NewerLog, metadata_directories, plant_newer
from tests.support.repairs import batch_ends, repair, request, tree

FILES = OsFiles()
OF_WHO_VOTES = ("kraft_version_2", "voters_record_v1")
"""The records of the voters in an unknown form."""
KNOWN_VOTERS = [case for case in NEWER_LOGS if case.name not in OF_WHO_VOTES]
UNKNOWN_VOTERS = [case for case in NEWER_LOGS if case.name in OF_WHO_VOTES]
NEW_CLUSTER = "b3RoZXJjbHVzdGVyaWQwMQ"

all_cases = pytest.mark.parametrize("case", NEWER_LOGS, ids=NEWER_NAMES)
with_known_voters = pytest.mark.parametrize("case", KNOWN_VOTERS, ids=lambda case: case.name)
with_unknown_voters = pytest.mark.parametrize("case", UNKNOWN_VOTERS, ids=lambda case: case.name)


def part_of(case: NewerLog) -> str:
    """Return the words for the part. Recovery reads no tagged fields, and names their level."""
    return "metadata.version 4.5-IV0 (34)" if case.name == "unknown_tag" else case.says


def data(cluster: Cluster, *nodes: int) -> list[str]:
    """Return the log directories of these nodes."""
    return [str(cluster.disk(node)) for node in nodes]


def planted(case: NewerLog, clusters: Path, tmp_path: Path) -> Cluster:
    """Return a copy of the case's cluster."""
    return plant_newer(case, clusters, tmp_path / "cluster")


def end_of(cluster: Cluster) -> int:
    """Return the end of all its logs."""
    (end,) = {int(read(data(cluster, node)[0]).end.offset) for node in (1, 2, 3, 11, 12)}
    return end


def read(log_dir: str) -> Copy:
    """Return the copy in a log directory."""
    return read_copy(FILES, find_place(FILES, log_dir))


def words_of(found: Inspection) -> str:
    """Return all that an inspection says of repairs, and recommends."""
    refused = [one.refused for one in found.plan.repairs if one.refused is not None]
    steps = [text for step in found.plan.steps for text in (step.text, *step.commands)]
    return "\n".join([found.plan.situation, *refused, *steps])


# --- looking --------------------------------------------------------------------------------------------------------


@with_known_voters
def test_who_votes_and_how_far_is_known(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    cluster = planted(case, clusters, tmp_path)

    found = inspect_copies(FILES, data(cluster, 1, 11, 12))

    assert found.evidence.in_force.ids == (1, 2, 3)
    assert {int(copy.end.offset) for copy in found.evidence.copies} == {end_of(cluster)}
    assert all(copy.stop is None and copy.prefix.problem is None for copy in found.evidence.copies)
    assert part_of(case) in found.evidence.newer.text()
    assert found.evidence.newer.hides_metadata == case.hides_metadata
    assert [repair.refused for repair in found.plan.repairs] == [None, None, None]
    words = words_of(found)
    assert f"kraft recover standalone --dir {data(cluster, 1)[0]}" in words
    assert "RESTORE" not in words.upper()


@with_known_voters
def test_a_majority_starts_as_it_is(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    cluster = planted(case, clusters, tmp_path)

    found = inspect_copies(FILES, data(cluster, 1, 2, 3, 11, 12))

    assert found.is_whole
    assert found.plan.steps[0].text.startswith("Start controllers 1, 2, 3 as they are")
    assert found.evidence.bounds.lower == end_of(cluster)


@with_unknown_voters
def test_what_says_who_votes_is_left_to_its_release(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    cluster = planted(case, clusters, tmp_path)

    found = inspect_copies(FILES, data(cluster, 1, 11, 12))

    assert part_of(case) in found.evidence.newer.text()
    refused = [repair.refused or "" for repair in found.plan.repairs]
    assert len(refused) == 3
    assert all(case.says in why and "Use a kraft that knows that release" in why for why in refused)
    words = words_of(found)
    assert f"with the release that wrote {case.says}" in words
    assert "restore" not in words


def test_voters_of_an_unknown_form_hide_those_before(clusters: Path, tmp_path: Path) -> None:
    case = next(case for case in NEWER_LOGS if case.name == "voters_record_v1")
    cluster = planted(case, clusters, tmp_path)
    lagging = str(copy_cluster(clusters / "basic", tmp_path / "before").disk(2))

    found = inspect_copies(FILES, [*data(cluster, 1), lagging])

    assert found.evidence.voters == ()
    assert "a later release wrote the voters (VotersRecord of version 1)" in found.plan.situation


@all_cases
def test_verify_names_what_was_not_checked(case: NewerLog, clusters: Path, tmp_path: Path) -> None:
    cluster = planted(case, clusters, tmp_path)

    found = verify_directories(FILES, data(cluster, 1, 2, 3))

    has_voters = case.name not in {"kraft_version_2", "voters_record_v1"}
    assert found.is_sound is has_voters
    assert has_voters or "the voters cannot be read" in " ".join(found.problems)
    (note,) = found.notes
    assert note.startswith("written by a release after 4.4")
    assert part_of(case) in note
    assert {one.hash for one in found.directories} == {None}


def test_what_is_lost_of_a_later_release_is_not_known(clusters: Path, tmp_path: Path) -> None:
    case = next(case for case in NEWER_LOGS if case.name == "topic_record_v1")
    longer = data(planted(case, clusters, tmp_path), 11)[0]
    kept = str(copy_cluster(clusters / "basic", tmp_path / "before").disk(1))

    with pytest.raises(RefusedError, match=r"1 of a later release; what those of a later release say is not known"):
        propose_standalone(FILES, kept, [longer], request())


# --- repairs --------------------------------------------------------------------------------------------------------

Propose = Callable[[Files], Proposal]


def standalone(cluster: Cluster) -> tuple[str, Propose]:
    """One controller goes on alone."""
    own = data(cluster, 1)[0]
    return own, lambda files: propose_standalone(files, own, data(cluster, 11), request())


def voters(cluster: Cluster) -> tuple[str, Propose]:
    """All controllers get addresses; the directory of the first is looked at."""
    dirs = data(cluster, 1, 2, 3)
    named = [parse_named_voter(f"{node}@host{node}:9{node}") for node in (1, 2, 3)]
    return dirs[0], lambda files: propose_voters(files, dirs, [], named, request())


def truncate(cluster: Cluster) -> tuple[str, Propose]:
    """The log ends before its last batch."""
    own = data(cluster, 1)[0]
    to = batch_ends(FILES, read(own))[-2]
    return own, lambda files: propose_truncate(files, own, [], to, request(accept_data_loss=True))


def from_broker(cluster: Cluster) -> tuple[str, Propose]:
    """A new controller's directory."""
    new = NewController(
        log_dir=str(cluster.root / "new"),
        node_id=1,
        endpoints=(Endpoint(name="CONTROLLER", host="here", port=9093),),
        directory_id=DirectoryId(bytes(range(100, 116))),
    )
    return new.log_dir, lambda files: propose_from_broker(files, data(cluster, 11), [], new, request())


def cluster_id(cluster: Cluster) -> tuple[str, Propose]:
    """Another cluster id."""
    own = data(cluster, 1)[0]
    return own, lambda files: propose_cluster_id(files, [own], NEW_CLUSTER, request(), is_a_clone=True)


def rebuild_indexes(cluster: Cluster) -> tuple[str, Propose]:
    """The history of epochs is gone."""
    own = data(cluster, 1)[0]
    (cluster.metadata(1) / "leader-epoch-checkpoint").unlink()
    return own, lambda files: propose_rebuild_indexes(files, own)


def drop_snapshot(cluster: Cluster) -> tuple[str, Propose]:
    """The newest of a broker's checkpoints, or the only one of a controller, is damaged."""
    node = 11 if list(cluster.metadata(11).glob("*.checkpoint")) else 1
    flip(max(cluster.metadata(node).glob("*.checkpoint")))
    own = data(cluster, node)[0]
    return own, lambda files: propose_drop_snapshot(files, own, [], request())


APPENDING = (standalone, voters, from_broker)
IN_PLACE = (truncate, cluster_id, rebuild_indexes, drop_snapshot)


def check_repair(case: NewerLog, cluster: Cluster, log_dir: str, propose: Propose) -> None:
    """Apply a repair, look at its result with the tools, and take it back."""
    before = tree(FILES, log_dir)
    said = [warning for warning in propose(FILES).warnings if "written by a release after 4.4" in warning]
    assert len(said) == 1
    assert "not checked" in said[0]
    assert part_of(case) in said[0]

    repair(FILES, propose, log_dir)

    after = tree(FILES, log_dir)
    assert after != before
    report = check_paths([Path(log_dir)])
    assert not [found for found in report.findings if found.counts and found.kind != "epoch_gap"], report.findings
    undo = propose_undo(FILES, log_dir, work_root_of(log_dir))
    assert [warning for warning in undo.warnings if warning == said[0]]
    repair(FILES, lambda files: propose_undo(files, log_dir, work_root_of(log_dir)), log_dir)
    assert tree(FILES, log_dir) == before


@pytest.mark.parametrize("prepare", APPENDING, ids=lambda prepare: prepare.__name__)
@with_known_voters
def test_a_repair_that_appends_goes_on_from_such_a_log(
    case: NewerLog, prepare: Callable[[Cluster], tuple[str, Propose]], clusters: Path, tmp_path: Path
) -> None:
    cluster = planted(case, clusters, tmp_path)
    log_dir, propose = prepare(cluster)

    repair(FILES, propose, log_dir)

    own, source = read(log_dir), read(data(cluster, 11)[0])
    assert own.end.offset == source.end.offset + 2  # LeaderChange, and voters
    assert own.end.epoch > 1000
    assert own.voters is not None
    assert own.prefix.problem is None
    assert own.quorum_state is not None
    assert own.quorum_state.leader_epoch == own.end.epoch


def _repairs_of_cases() -> Iterator[object]:
    """Yield each repair of each case: for `make test` two of a case by turns, the others for the campaign."""
    repairs = (*APPENDING, *IN_PLACE)
    for number, case in enumerate(KNOWN_VOTERS):
        chosen = (repairs[number % len(repairs)], repairs[(number + 3) % len(repairs)])
        for prepare in repairs:
            marks = () if prepare in chosen else pytest.mark.campaign
            yield pytest.param(case, prepare, id=f"{case.name}-{prepare.__name__}", marks=marks)


@pytest.mark.parametrize(("case", "prepare"), list(_repairs_of_cases()))
def test_a_repair_says_what_it_could_not_check_and_is_taken_back(
    case: NewerLog, prepare: Callable[[Cluster], tuple[str, Propose]], clusters: Path, tmp_path: Path
) -> None:
    cluster = planted(case, clusters, tmp_path)
    check_repair(case, cluster, *prepare(cluster))


@pytest.mark.parametrize("prepare", IN_PLACE, ids=lambda prepare: prepare.__name__)
@with_unknown_voters
def test_a_repair_that_appends_nothing_needs_no_voters(
    case: NewerLog, prepare: Callable[[Cluster], tuple[str, Propose]], clusters: Path, tmp_path: Path
) -> None:
    cluster = planted(case, clusters, tmp_path)
    check_repair(case, cluster, *prepare(cluster))


@pytest.mark.parametrize("prepare", APPENDING, ids=lambda prepare: prepare.__name__)
@with_unknown_voters
def test_a_repair_that_writes_voters_is_refused_where_their_form_is_not_known(
    case: NewerLog, prepare: Callable[[Cluster], tuple[str, Propose]], clusters: Path, tmp_path: Path
) -> None:
    _, propose = prepare(planted(case, clusters, tmp_path))
    with pytest.raises(RefusedError, match=rf"wrote the voters \({case.says}\).*Use a kraft that knows that release"):
        propose(FILES)


def test_static_voters_go_on_from_such_a_log(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "static-3.9", tmp_path / "cluster")
    append(cluster.segment(3), [b"\x01\xf5\x03\x00\x06vendor\x00"])
    own = data(cluster, 3)[0]
    alone = [parse_static_voter("3@host3:9093")]

    def propose(files: Files) -> Proposal:
        return propose_static_voters(files, [own], [], alone, request())

    assert any("records of type 501" in warning for warning in propose(FILES).warnings)
    before = tree(FILES, own)
    repair(FILES, propose, own)
    assert read(own).static_voters == (3,)
    assert read(own).end.offset == 117
    repair(FILES, lambda files: propose_undo(files, own, work_root_of(own)), own)
    assert tree(FILES, own) == before


def test_a_new_controller_needs_a_metadata_version_that_is_known(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "cluster")
    for metadata in metadata_directories(cluster):
        (segment,) = metadata.glob("*.log")
        write(segment, [with_newer_levels(batch) for batch in split(segment)])
    _, propose = from_broker(cluster)

    with pytest.raises(RefusedError, match=r"at which metadata\.version its cluster is.*kraft recover standalone"):
        propose(FILES)

    own, alone = standalone(cluster)
    repair(FILES, alone, own)
    assert read(own).newer.text().endswith("FeatureLevelRecord of version 1")


def with_newer_levels(batch: bytes) -> bytes:
    """Return the batch with its FeatureLevelRecords in version 1."""
    header = parse_header(batch)
    if header.is_control:
        return batch
    known, later = b"\x01\x0c\x00", b"\x01\x0c\x01"
    return with_values(
        batch, [later + value[3:] if value[:3] == known else value for value in batch_values(batch, header)]
    )
