"""Commands of a plan that would be refused for lack of a word, and what a change of voters says of each."""

from __future__ import annotations

import shlex
from pathlib import Path

from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.storage.segment import LocatedBatch
from metadata_log.tools.read.scan import scan
from quorum.cli.recover.show import inspection_data
from quorum.recovery.advice.repair_steps import steps_for
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import copy_cluster
from tests.support.repairs import load_nodes, repair, request

METADATA = "__cluster_metadata-0"


def position_of(files: SimulatedFiles, path: str, offset: int) -> int:
    """Return the position of the batch that holds `offset`, or of the first batch above it."""
    handle = files.open(f"{path}/{METADATA}/00000000000000000000.log", read_only=True)
    batches = (found for found in scan(handle) if isinstance(found, LocatedBatch))
    return next(found.position for found in batches if found.header.base_offset >= offset)


def test_a_controller_whose_own_log_names_it_no_voter_is_told_to_name_its_address() -> None:
    files = load_nodes("dynamic-voters", 1)
    log = files.open(f"/n1/{METADATA}/00000000000000000000.log")
    log.pwrite(bytes(200), log.size() - 200)
    lines = [line for step in inspect_copies(files, ["/n1"]).plan.steps for line in step.commands]
    (line, _) = [one for one in lines if "recover standalone" in one]
    assert line.startswith("kraft recover standalone --dir /n1 --endpoint CONTROLLER://HOST:PORT ")


def test_a_copy_that_names_no_address_needs_one_to_ask() -> None:
    files = load_nodes("upgrade-path", 12)
    old = read_copy(files, find_place(files, "/n12"), until=85)
    lines = [line for step in steps_for(evidence_of([old]), old, ()) for line in step.commands if "from-broker" in line]
    assert lines
    assert all("--bootstrap-controller" in shlex.split(line) for line in lines)
    whole = read_copy(files, find_place(files, "/n12"))
    assert "--bootstrap-controller" not in str(steps_for(evidence_of([whole]), whole, ()))


def cut_file(files: SimulatedFiles, path: str, size: int) -> None:
    files.open(f"{path}/{METADATA}/00000000000000000000.log").truncate(size)


def test_what_makes_a_majority_once_it_is_cut_is_inspected_then() -> None:
    """The repair of one alone, which was printed next, is refused beside another that is sound."""
    files = load_nodes("upgrade-path", 2, 3)
    cut_file(files, "/n3", position_of(files, "/n3", 404) + 500)
    cut_file(files, "/n2", position_of(files, "/n2", 360))
    beside = [name for name in files.listdir(f"/n2/{METADATA}") if name.endswith((".index", ".timeindex", ".snapshot"))]
    for name in beside:
        files.unlink(f"/n2/{METADATA}/{name}")
    *_, cut, last = inspect_copies(files, ["/n3", "/n2"]).plan.steps
    assert cut.commands[1].startswith("kraft recover truncate --dir /n3 --to 404 ")
    assert last.commands == ("kraft recover inspect /n2 /n3",)
    accepted = request(accept_data_loss=True)
    after = propose_truncate(files, "/n3", ["/n2"], 404, accepted).steps
    assert "standalone" not in str(after)
    assert ("kraft recover inspect /n2 /n3",) in [step.commands for step in after]
    repair(files, lambda files: propose_truncate(files, "/n3", ["/n2"], 404, accepted), "/n3")
    assert "Start controllers 3, 2 as they are" in str(inspect_copies(files, ["/n2", "/n3"]).plan.steps)


def test_a_change_of_addresses_says_that_a_lost_vote_must_be_accepted() -> None:
    files = load_nodes("basic", 1, 2, 3)
    path = f"/n3/{METADATA}/quorum-state"
    files.open(path).pwrite(b"rubbish", 0)
    (step,) = [one for one in inspect_copies(files, ["/n1", "/n2", "/n3"]).plan.steps if "recover voters" in str(one)]
    assert f"{path} held an epoch and a vote, which cannot be read: restore it from a backup first" in step.text
    assert all(line.endswith(" --accept-lost-vote") for line in step.commands)


def test_no_change_of_addresses_is_printed_that_a_file_of_newer_software_refuses() -> None:
    files = load_nodes("basic", 1, 2, 3)
    files.open(f"/n3/{METADATA}/leader-epoch-checkpoint").pwrite(b"1", 0)
    step = inspect_copies(files, ["/n1", "/n2", "/n3"]).plan.steps[-1]
    assert step.text.endswith(
        f"Newer software wrote /n3/{METADATA}/leader-epoch-checkpoint: run this with a kraft of that version"
    )
    assert step.commands == ()


def test_a_change_of_voters_says_what_becomes_of_each() -> None:
    files = load_nodes("basic", 1, 2)
    named = [parse_named_voter("1@127.0.0.1:29101"), parse_named_voter("2@new:9093")]
    says = propose_voters(files, ["/n1", "/n2"], [], named, request()).says
    each = [one for one in says if one.startswith("voter ")]
    assert each[0] == "voter 1: CONTROLLER://127.0.0.1:29101 (directory ZGlyZWN0b3J5LWlkLTAwMQ), as before"
    assert each[1].startswith("voter 2: CONTROLLER://127.0.0.1:29102 (directory ")
    assert " -> CONTROLLER://new:9093 (directory " in each[1]
    assert each[2].startswith("voter 3: CONTROLLER://127.0.0.1:29103 (directory ")
    assert each[2].endswith(" -> none")


def test_an_interrupted_directory_is_no_node_of_a_negative_number() -> None:
    files = load_nodes("failovers", 1, 2, 3)
    for node in (1, 2, 3):
        files.rename(f"/n{node}/meta.properties", f"/n{node}/meta.properties.recover-held")
    said = str(inspection_data(inspect_copies(files, ["/n1", "/n2", "/n3"])))
    assert "node -1" not in said
    assert "unnamed node" in said


def test_a_copy_without_its_damaged_checkpoint_goes_back_to_its_host() -> None:
    files = load_nodes("failovers", 11)
    name = max(name for name in files.listdir(f"/n11/{METADATA}") if name.endswith(".checkpoint"))
    files.open(f"/n11/{METADATA}/{name}").pwrite(bytes(200), 100)
    steps = propose_drop_snapshot(files, "/n11", [], request()).steps
    assert [step.commands[0].split()[0] for step in steps] == ["kraft", "scp", "bin/kafka-server-start.sh"]
    assert steps[1].text.startswith("Unless it is in its place already, take of each node that is a broker only the")
    assert "(node 11)" in steps[1].text


def test_no_node_of_a_negative_id_is_missed(clusters: Path, tmp_path: Path) -> None:
    """`--missing` takes no such id, and no node has it."""
    damage = next(one for one in ALL_DAMAGE if one.name == "broker_negative")
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)
    plan = inspect_copies(OsFiles(), [str(cluster.disk(3))]).plan
    lines = [line for step in plan.steps for line in step.commands if "--missing" in line]
    assert lines
    assert all("--missing 1,2,11,12" in line for line in lines)
