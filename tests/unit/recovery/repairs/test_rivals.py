"""Repairs that only the audit files beside other directories show, which the operator has not named."""

from __future__ import annotations

import itertools

import pytest

from metadata_log.files.port import Files, parent_of, read_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import DirectoryId
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.guards.request import Proposal
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import AUDIT_COPY_FILE, AUDIT_FILE, pending, work_root_of
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.support.misuses import CLUSTER, OTHER_CLUSTER
from tests.support.repairs import FailingAt, load, outcome, repair, request

NEW = NewController(
    log_dir="/d/new",
    node_id=1,
    endpoints=(Endpoint(name="CONTROLLER", host="new", port=9093),),
    directory_id=DirectoryId(bytes(range(100, 116))),
)
SAYS = (
    r"/d/stale\.recovery/.*/audit\.json records a repair of /d/stale at .*, which began epoch 1001, and no copy here "
)


def repaired_first() -> SimulatedFiles:
    """Two copies of node 1, of which one was repaired, and a broker's, all below /d."""
    files = SimulatedFiles()
    load("basic/node-1/data", files, "/d/stale")
    load("basic/node-1/data", files, "/d/data")
    load("basic/node-11/data", files, "/d/n11")
    repair(files, lambda files: propose_standalone(files, "/d/stale", [], request()), "/d/stale")
    return files


def below(files: SimulatedFiles, path: str) -> list[str]:
    if not files.is_dir(path):
        return [path]
    return [one for name in files.listdir(path) for one in below(files, f"{path}/{name}")]


def remove(files: SimulatedFiles, path: str) -> None:
    for name in files.listdir(path):
        if files.is_dir(f"{path}/{name}"):
            remove(files, f"{path}/{name}")
        else:
            files.unlink(f"{path}/{name}")
    files.rmdir(path)


def test_no_other_directory_is_repaired_while_the_first_repair_stands() -> None:
    files = repaired_first()
    by_all = request(accept_data_loss=True)
    says = SAYS + r".* two quorums\. Name it, --copy /d/stale, .*nothing has started from it: kraft recover undo --dir "
    with pytest.raises(RefusedError, match=says + "/d/stale --apply"):
        propose_standalone(files, "/d/data", [], by_all)
    with pytest.raises(RefusedError, match=SAYS):
        propose_voters(files, ["/d/data"], [], [parse_named_voter("1@new:9093")], by_all)
    with pytest.raises(RefusedError, match=SAYS):
        propose_from_broker(files, ["/d/n11"], [], NEW, by_all)


def test_one_that_is_named_is_compared() -> None:
    files = repaired_first()
    with pytest.raises(RefusedError, match=r"node 1 \(/d/stale\) was repaired already: epoch 1001 begins there at"):
        propose_standalone(files, "/d/data", ["/d/stale"], request())


def test_one_that_was_taken_back_is_no_hindrance() -> None:
    files = repaired_first()
    repair(files, lambda files: propose_undo(files, "/d/stale", work_root_of("/d/stale")), "/d/stale")
    assert propose_standalone(files, "/d/data", [], request()).rewrites
    assert "records a repair" not in inspect_copies(files, ["/d/data"]).plan.situation


def test_another_clusters_is_no_hindrance() -> None:
    files = repaired_first()
    load("basic/node-1/data", files, "/d/other")
    data = read_file(files, "/d/other/meta.properties").replace(CLUSTER.encode(), OTHER_CLUSTER.encode())
    files.open("/d/other/meta.properties").pwrite(data, 0)
    assert propose_standalone(files, "/d/other", [], request()).rewrites


def of_data(files: Files) -> Proposal:
    return propose_standalone(files, "/d/data", [], request(accept_data_loss=True))


def test_one_that_was_interrupted_is_finished_or_taken_back_first() -> None:
    """The repair is interrupted at each call. Before its decision it is ignored; after it, it blocks other repairs."""
    refused = 0
    for call in itertools.count(1):
        files = SimulatedFiles()
        load("basic/node-1/data", files, "/d/stale")
        load("basic/node-1/data", files, "/d/data")
        interrupted = FailingAt(files, call)
        said = outcome(interrupted, lambda files: propose_standalone(files, "/d/stale", [], request()), "/d/stale")
        if said is None:
            break
        if pending(files, "/d/stale") is None:
            continue
        with pytest.raises(RefusedError, match=r"begins epoch 1001 once|began epoch 1001") as why:
            of_data(files)
        assert "kraft recover undo --dir /d/stale --apply" in str(why.value)
        if "was interrupted there" in str(why.value):
            refused += 1
            plan = inspect_copies(files, ["/d/data"]).plan
            assert "was interrupted there" in plan.situation
            assert plan.steps[0].commands[0] == "kraft recover undo --dir /d/stale --apply"
    assert refused > 3


def test_one_that_never_began_is_no_hindrance() -> None:
    files = SimulatedFiles()
    load("basic/node-1/data", files, "/d/stale")
    load("basic/node-1/data", files, "/d/data")
    early = FailingAt(files, 3)
    assert outcome(early, lambda files: propose_standalone(files, "/d/stale", [], request()), "/d/stale") is not None
    assert of_data(files).rewrites


def test_what_a_node_has_run_with_is_not_to_be_taken_back() -> None:
    files = repaired_first()
    own = read_copy(files, find_place(files, "/d/stale"))
    log = files.open(f"/d/stale/__cluster_metadata-0/{own.prefix.segments[-1].name}")
    log.pwrite(b"more", log.size())
    with pytest.raises(RefusedError, match=SAYS) as refused:
        propose_standalone(files, "/d/data", [], request())
    assert "undo" not in str(refused.value)


def test_one_that_was_moved_with_its_audits_is_named_where_it_is() -> None:
    files = repaired_first()
    load("basic/node-1/data", files, "/d/kept")
    for path, data in [(path, read_file(files, path)) for path in below(files, "/d/stale.recovery")]:
        files.mkdirs(parent_of(moved := path.replace("/d/stale", "/d/kept")))
        files.open(moved, create=True).pwrite(data, 0)
    remove(files, "/d/stale.recovery")
    with pytest.raises(RefusedError, match=r"records a repair of /d/kept at .*Name it, --copy /d/kept"):
        propose_standalone(files, "/d/data", [], request())


def test_one_that_is_gone_is_looked_for_unless_nothing_starts_from_it() -> None:
    files = repaired_first()
    remove(files, "/d/stale")
    with pytest.raises(RefusedError, match=SAYS + r".*was moved to with --copy.*say --accept-data-loss"):
        propose_standalone(files, "/d/data", [], request())
    assert "moved to" in inspect_copies(files, ["/d/data"]).plan.steps[0].text
    proposal = propose_standalone(files, "/d/data", [], request(accept_data_loss=True))
    assert any("epoch 2001 begins" in said for said in proposal.says)
    assert any("records a repair of /d/stale at " in one for one in proposal.warnings)


def test_audits_beside_that_cannot_be_read_are_told_of() -> None:
    files = repaired_first()
    (name,) = files.listdir("/d/stale.recovery")
    for file in (AUDIT_FILE, AUDIT_COPY_FILE):
        files.open(f"/d/stale.recovery/{name}/{file}").pwrite(b"rubbish", 0)
    warnings = propose_standalone(files, "/d/data", [], request()).warnings
    assert any(f"/d/stale.recovery/{name}: " in one and "is not known" in one for one in warnings)


def test_inspect_recommends_to_name_what_was_repaired_first() -> None:
    plan = inspect_copies(repaired_first(), ["/d/data", "/d/n11"]).plan
    assert "records a repair of /d/stale at " in plan.situation
    assert [step.commands for step in plan.steps] == [
        ("kraft recover inspect /d/data /d/n11 /d/stale",),
        ("kraft recover undo --dir /d/stale --apply",),
    ]
