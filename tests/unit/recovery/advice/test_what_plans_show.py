"""Plans, refusals and examples show complete options and readable lists."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import NoOpRecord, encode_record
from quorum.cli.main import run
from quorum.cli.recover import log_repairs as recover_log
from quorum.cli.recover import quorum_repairs as recover_quorum
from quorum.cli.recover.show import file_lines
from quorum.recovery.advice.commands import check_and_start, never_again, rejoin
from quorum.recovery.advice.directory_transfer import Home, take_home
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.journal.changes import Content, FileChange, Rewrite
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.support.log_bytes import log_bytes
from tests.support.misuses import NO_WAIT, Bench, flipped, last_segment, metadata
from tests.support.repairs import load, repair, request


def recover(capsys: pytest.CaptureFixture[str], *words: object, fails: bool = False) -> str:
    capsys.readouterr()
    assert (run(["recover", *map(str, words)]) != 0) is fails
    said = capsys.readouterr()
    return said.err if fails else said.out


PLACES = {
    "standalone": {"/var/lib/kafka/data": 1, "copies/broker-11": 11},
    "from-broker": {"/var/lib/kafka/data": 11, "copies/broker-12": 12},
    "voters": {"c1/data": 1, "c2/data": 2, "c3/data": 3, "copies/broker-11": 11},
    "static-voters": {"DATA": 2},
    "truncate": {"DATA": 1, "c2/data": 2, "c3/data": 3},
}


@pytest.mark.parametrize(
    "examples",
    [
        recover_quorum.STANDALONE_EXAMPLES,
        recover_quorum.FROM_BROKER_EXAMPLES,
        recover_quorum.VOTERS_EXAMPLES,
        recover_quorum.STATIC_VOTERS_EXAMPLES,
        recover_log.TRUNCATE_EXAMPLES,
    ],
    ids=list(PLACES),
)
def test_the_first_example_names_all_that_is_gone(
    examples: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    line = re.split(r"    ", examples.partition(":  kraft recover ")[2])[0].removesuffix(" --apply")
    action, *words = shlex.split(line)
    scenario = "static-3.9" if action == "static-voters" else "basic"
    places = {name: str(bench.node(scenario, node)) for name, node in PLACES[action].items()}
    places |= {"new/controller-1": f"{bench.root}/new", "49": "83" if action == "truncate" else "49"}
    places["server.properties"] = str(bench.file("server.properties", "controller.quorum.voters=1@host1:9093"))
    words = [places.get(word, word) for word in words]
    words = [word.replace("1@host1", "2@host1") for word in words]
    if action == "truncate":
        words.append("--accept-data-loss")
    assert f"Would do: kraft recover {action}" in recover(capsys, action, *words, *NO_WAIT)


def test_a_refusal_gives_the_option_with_the_right_ids(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal does not suggest an option again that was wrong."""
    words = ["from-broker", "--broker-dir", bench.node("basic", 12), "--dir", bench.root / "new", "--node-id", 1]
    words += ["--endpoint", "CONTROLLER://127.0.0.1:29101", *NO_WAIT]
    said = recover(capsys, *words, "--missing", "1,22", fails=True)
    assert "add --missing 1,2,3,11; --missing 22: no copy here knows such a node; check the numbers" in said
    assert "Would do: " in recover(capsys, *words, "--missing", "1,2,3,11")


def test_what_follows_a_repair_of_static_voters_names_who_is_gone() -> None:
    *_, last = rejoin(ours=False, cluster_id="x", others=[2, 3], brokers=(), leader="h:1", dynamic=False)
    assert all(" --missing rest " in line for line in last.commands)


@pytest.mark.parametrize("dynamic", [True, False])
def test_the_directory_of_a_node_that_is_a_broker_too_is_never_formatted(dynamic: bool) -> None:
    """Once it is formatted its replicas are empty: in Kafka 4.3 no leader may come to be that has the data."""
    *both, _ = rejoin(ours=False, cluster_id="x", others=[2, 3], brokers={1, 2, 3}, leader="h:1", dynamic=dynamic)
    lines = [line for step in both for line in step.commands]
    assert lines[0] == "mv DATA_DIR/__cluster_metadata-0 DATA_DIR.metadata-log-before-recovery"
    assert not any("format" in line or "before-recovery" in line for line in lines[1:])
    assert any("start" in line for line in lines[1:]) is dynamic
    mixed = rejoin(ours=False, cluster_id="x", others=[2, 3], brokers={3}, leader="h:1", dynamic=dynamic)
    assert [number for step in mixed for number in re.findall(r"\((\d)\)", step.text)] == ["2", "3"]
    assert sum("format" in line for step in mixed for line in step.commands) == 1


def test_of_a_node_that_is_a_broker_too_only_the_metadata_log_is_taken_home() -> None:
    """`mv DATA_DIR DATA_DIR.before-recovery` there is the end of its replicas."""
    homes = [Home(node_id=node, log_dir=f"/n{node}", address=f"h{node}:9093", is_broker=node > 1) for node in (1, 2, 3)]
    steps = take_home(homes)
    lines = [line for step in steps for line in step.commands]
    assert "scp -rp /n1 h1:DATA_DIR.new" in lines
    *logs, away, into = steps[-1].commands
    assert logs == [f"scp -rp /n{node}/__cluster_metadata-0 h{node}:DATA_DIR.new-log" for node in (2, 3)]
    assert away == "mv DATA_DIR/__cluster_metadata-0 DATA_DIR.metadata-log-before-recovery"
    assert into == "mv DATA_DIR.new-log DATA_DIR/__cluster_metadata-0"
    assert [line for step in take_home(homes[1:]) for line in step.commands] == [*logs, away, into]


def test_what_must_never_start_again_of_nodes_that_are_brokers_is_the_metadata_log() -> None:
    assert never_again([2, 3], ()) == "controllers 2, 3 must never start again from their old directories"
    assert never_again([2], {2}) == "controller 2 must never start again from its old metadata log"


def test_many_files_of_a_kind_are_one_line_and_json_has_them_all(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["from-broker", "--broker-dir", bench.node("failovers", 11), "--dir", bench.root / "new", "--node-id", 1]
    words += ["--endpoint", "CONTROLLER://127.0.0.1:29101", "--missing", "rest", *NO_WAIT]
    said = recover(capsys, *words)
    size = log_bytes(metadata(bench.node("failovers", 11)))
    assert re.search(rf"^  write  4 segments, 98 … 326 \({size // 1000}\.\d kB\)$", said, re.MULTILINE)
    assert ".log" not in said
    assert "  write  __cluster_metadata-0/00000000000000000310-0000000009.checkpoint\n" in said
    assert "  back up " not in said  # nothing is there yet
    [changes] = json.loads(recover(capsys, *words, "-o", "json"))["changes"]
    names = [one["name"].rpartition("/")[2] for one in changes["files"]]
    assert [name for name in names if name.endswith(".log")] == [f"{at:020}.log" for at in (98, 207, 294, 326)]


def test_what_is_backed_up_is_counted_and_measured_before_it_goes() -> None:
    files = SimulatedFiles()
    names = [f"__cluster_metadata-0/{at:020}{suffix}" for at in range(0, 80, 10) for suffix in (".log", ".index")]
    names += ["__cluster_metadata-0/quorum-state", "meta.properties"]
    files.mkdirs("/data/__cluster_metadata-0")
    for name in names:
        files.open(f"/data/{name}", create=True).pwrite(b"x" * 300, 0)
    gone = [FileChange(name=name, content=None) for name in names[:-1]]
    new = FileChange(name=names[-1], content=Content(source="/data/meta.properties", size=7, data=b"y"))
    rewrite = Rewrite(action="x", log_dir="/data", changes=(*gone, new))
    assert list(file_lines(files, rewrite, "/data.recovery")) == [
        "back up 8 segments, 8 index files, quorum-state, meta.properties (5.4 kB) first, below /data.recovery",
        "remove 8 segments, 0 … 70 (2.4 kB)",
        "remove 8 index files, 0 … 70 (2.4 kB)",
        "remove __cluster_metadata-0/quorum-state",
        "write  meta.properties",
    ]


def test_few_files_stand_on_lines_of_their_own(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    log_dir = bench.node("basic", 1)
    words = ["standalone", "--dir", log_dir, "--missing", "rest", *NO_WAIT]
    held = sum((metadata(log_dir) / name).stat().st_size for name in ("leader-epoch-checkpoint", "quorum-state"))
    shown = "\n".join([
        f"In {log_dir}:",
        f"  back up leader-epoch-checkpoint, quorum-state ({held} bytes) first, below {log_dir}.recovery",
        "  write  __cluster_metadata-0/00000000000000000095.log",
        "  write  __cluster_metadata-0/leader-epoch-checkpoint",
        "  write  __cluster_metadata-0/quorum-state",
        "",
    ])  # fmt: skip
    assert shown in recover(capsys, *words)
    assert shown in recover(capsys, *words, "--apply")


def steps_of(text: str) -> list[tuple[str, list[str]]]:
    """The numbered steps under `Next:`, each with its commands."""
    found: list[tuple[str, list[str]]] = []
    for line in text.partition("Next:\n")[2].splitlines():
        if re.match(r" +\d+\. ", line):
            found.append((line.partition(". ")[2].removesuffix(":").removesuffix("."), []))
        elif line.startswith("         "):
            found[-1][1].append(line.strip())
    return found


def addressed(bench: Bench, action: str, scenario: str, hosts: tuple[str, ...]) -> tuple[list[Path], list[object]]:
    """A repair of these controllers' directories, and where they are to be."""
    dirs = [bench.node(scenario, node) for node in range(1, len(hosts) + 1)]
    words: list[object] = [action, "--missing", "rest", "--apply", *NO_WAIT]
    for node, (one, host) in enumerate(zip(dirs, hosts, strict=True), 1):
        words += ["--dir", one, "--set", f"{node}@{host}:9093"]
    return dirs, words


@pytest.mark.parametrize(("action", "scenario"), [("voters", "failovers"), ("static-voters", "static-3.9")])
def test_repaired_directories_of_several_hosts_are_taken_there(
    action: str, scenario: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    dirs, words = addressed(bench, action, scenario, ("new1", "new2", "new3"))
    verify, *steps = steps_of(recover(capsys, *words))
    assert verify[1] == [f"kraft recover verify {' '.join(map(str, dirs))}"]
    texts = [text for text, _ in steps]
    take, put, start = (
        next(number for number, text in enumerate(texts) if text.startswith(begin))
        for begin in ("Take each directory to its host", "On each host that got one", "Start the controllers")
    )
    assert take + 1 == put < start
    assert texts[take].endswith("already: node 1 to new1, node 2 to new2, node 3 to new3")
    assert steps[take][1] == [f"scp -rp {path} new{node}:DATA_DIR.new" for node, path in enumerate(dirs, 1)]
    assert "keep the old directory, which nothing starts from again" in texts[put]

    assert steps_of(recover(capsys, "verify", *dirs)) == steps
    for path in dirs:
        shutil.rmtree(f"{path}.recovery")

    take_again, put_again, last = steps_of(recover(capsys, "verify", *dirs))
    if action == "voters":
        assert (take_again, put_again) == (steps[take], steps[put])
    else:  # no directory holds the addresses of static voters
        assert take_again[0].endswith("already: node 1, node 2, node 3")
        assert take_again[1][0] == f"scp -rp {dirs[0]} HOST:DATA_DIR.new"
    assert last[0].startswith("Start these controllers")


@pytest.mark.parametrize("hosts", [("127.0.0.1", "localhost"), ("[::1]", "127.0.0.2")])
def test_what_runs_on_this_host_is_taken_nowhere(
    hosts: tuple[str, ...], bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    dirs, words = addressed(bench, "voters", "basic", hosts)
    assert "Take " not in recover(capsys, *words)
    assert "Take " not in recover(capsys, "verify", *dirs)


def test_one_new_directory_is_taken_to_its_host(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    new = bench.root / "new"
    words = ["from-broker", "--broker-dir", bench.node("basic", 12), "--dir", new, "--node-id", 1, "--missing", "rest"]
    said = recover(capsys, *words, "--endpoint", "CONTROLLER://[fd00::1]:9093", "--apply", *NO_WAIT)
    _, (text, commands), (start, _), *_ = steps_of(said)
    assert text.startswith(f"Unless {new} is in its place already: take it there (node 1 to [fd00::1]), keep the old ")
    assert commands == [f"scp -rp {new} '[fd00::1]:DATA_DIR.new'"]
    assert start.startswith("Start the repaired controller, alone")


def wrong_index(bench: Bench) -> list[object]:
    log_dir = bench.node("basic", 2)
    (metadata(log_dir) / f"{0:020}.index").write_bytes(b"x" * 24)
    (metadata(log_dir) / "leader-epoch-checkpoint").write_text("x")
    return ["rebuild-indexes", "--dir", log_dir]


def wrong_checkpoint(bench: Bench) -> list[object]:
    log_dir = bench.node("every-record", 1)
    flipped(max(metadata(log_dir).glob("*.checkpoint")), 200)
    return ["drop-snapshot", "--dir", log_dir, "--missing", "rest", *NO_WAIT]


def torn(bench: Bench) -> list[object]:
    log_dir = bench.node("basic", 2)
    noop = encode_record(NoOpRecord(), 0)
    unfinished = build_batch(base_offset=Offset(96), epoch=Epoch(1), timestamp_ms=0, values=[noop])
    with last_segment(log_dir).open("ab") as segment:
        segment.write(unfinished[:-7])
    return ["truncate", "--dir", log_dir, "--to", 96, "--missing", "rest", *NO_WAIT]


MENDED = {
    "rebuild-indexes": (
        wrong_index,
        r"found: beside the log of node 2 \(.*\), 1 index file and leader-epoch-checkpoint disagree with the log",
        "changes: they are rebuilt from the log",
        "Keeps every byte of the log, its checkpoints, and the node's vote.",
    ),
    "drop-snapshot": (
        wrong_checkpoint,
        r"found: 0{17}300-0000000001.checkpoint of node 1 \(.*\) is damaged: corrupt record batch at .*",
        "changes: it is taken away, and the node starts from 00000000000000000139-0000000001.checkpoint and replays "
        "its log up to offset 381",
        "Keeps everything up to offset 381 of epoch 2: the log, whole checkpoints, and the node's vote.",
    ),
    "truncate": (
        torn,
        r"found: the log of node 2 \(.*\) ends at offset 96 of epoch 1; it was damaged at .*",
        "changes: it ends at offset 96 then, in epoch 1, and all after that is cut",
        "Keeps everything up to offset 96 of epoch 1, and the node's vote: no new epoch begins.",
    ),
}


@pytest.mark.parametrize("action", MENDED)
def test_what_mends_one_directory_says_what_was_found_what_changes_and_what_stays(
    action: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    make, found, changes, keeps = MENDED[action]
    words = make(bench)
    for done, more in (("Would do", ()), ("Did", ("--apply",))):
        said = recover(capsys, *words, *more)
        first, second, third, *rest = said.splitlines()
        assert first == f"{done}: kraft recover {action}"
        assert re.fullmatch(f"  {found}", second)
        assert third == f"  {changes}"
        assert keeps in rest
    check, start = steps_of(said)
    assert check == ("Check the result before the node starts", [f"kraft check {words[2]}"])
    assert start[0].startswith("Start the node")
    assert start[1] == ["bin/kafka-server-start.sh server.properties"]
    assert run(["check", str(words[2])]) == 0


def test_one_controller_is_not_called_several(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--dir", bench.node("basic", 1), "--dir", bench.node("basic", 2), "--missing", "rest", *NO_WAIT]
    said = recover(capsys, "voters", *words, "--set", "1@localhost:1", "--set", "2@localhost:2")
    assert "WARNING: controller 3 must never start again from its old directory." in said
    assert "another one (voter 3 is not here) would begin epoch 1001" in said
    said = recover(capsys, "standalone", *words[:2], *words[4:])
    assert "WARNING: controllers 2, 3 must never start again from their old directories: an old majority would" in said


@pytest.mark.parametrize("node", [1, 12])
def test_a_controller_of_ours_is_started_as_one_and_a_broker_beside_it_as_kafkas(
    node: int,
) -> None:
    files = SimulatedFiles()
    load("basic/node-12/data", files, "/n12")
    voters = [parse_named_voter(f"{one}@127.0.0.1:{one}/{one}1") for one in (1, 2, 3)]
    for one in (1, 2, 3):
        load(f"basic/node-{one}/data", files, f"/n{one}")
    dirs = [f"/n{one}" for one in (1, 2, 3)]
    repair(files, lambda files: propose_voters(files, dirs, ["/n12"], voters, request()), *dirs)
    own = read_copy(files, find_place(files, f"/n{node}"))
    known = evidence_of([own, *(read_copy(files, find_place(files, path)) for path in dirs if path != f"/n{node}")])
    *_, start = check_and_start(known, own, "Start the node")
    kafka, ours = "bin/kafka-server-start.sh server.properties", "kraft controller start --config node.properties"
    assert start.commands == (ours if node == 1 else kafka,)
