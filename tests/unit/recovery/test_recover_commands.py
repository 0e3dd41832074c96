"""`kraft recover` from the command line: dry runs, JSON, owners, places for the backup."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import HERE, NO_WAIT, OTHER_CLUSTER, Bench, last_segment


def everything(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def test_a_dry_run_changes_nothing_not_even_a_lock_file(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    before = everything(tmp_path)
    assert run(["recover", "standalone", "--dir", str(node), "--missing", "rest", *NO_WAIT]) == 0
    said = capsys.readouterr().out
    assert "Would do: kraft recover standalone" in said
    assert "Nothing was changed. Say --apply to do it." in said
    assert everything(tmp_path) == before


def test_programs_get_json(clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(clusters, tmp_path)
    node, broker = bench.node("basic", 1), bench.node("basic", 11)
    assert run(["recover", "inspect", str(node), str(broker), "-o", "json"]) == 1
    seen = json.loads(capsys.readouterr().out)
    assert [(copy["node_id"], copy["role"], copy["end_offset"]) for copy in seen["copies"]] == [
        (1, "voter", 95),
        (11, "broker", 83),
    ]
    assert (seen["absent_voters"], seen["absent_brokers"]) == ([2, 3], [12])
    assert [(repair["name"], len(repair["lost"])) for repair in seen["repairs"]] == [
        ("standalone", 0),
        ("from-broker", 1),
    ]
    words = ["recover", "standalone", "--dir", str(node), "--copy", str(broker), "--missing", "2,3,12", *NO_WAIT]
    assert run([*words, "-o", "json"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert (planned["applied"], planned["loses"]) == (False, [])
    assert run([*words, "--apply", "-o", "json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert done["records"][0]["facts"]["new_epoch"] == 1001
    assert run(["recover", "verify", str(node), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["directories"][0]["problems"] == []


def test_the_backup_goes_where_it_is_told_to(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node, work = Bench(clusters, tmp_path).node("basic", 1), tmp_path / "elsewhere"
    before = everything(node)
    words = ["--dir", str(node), "--work", str(work), "--apply"]
    assert run(["recover", "standalone", "--missing", "rest", *words, *NO_WAIT]) == 0
    assert list(work.glob("*/audit.json"))
    assert not node.with_name(f"{node.name}.recovery").exists()
    assert run(["recover", "undo", *words]) == 0
    capsys.readouterr()
    assert everything(node) == before


@pytest.mark.parametrize("was_there", [False, True])
def test_what_is_taken_back_leaves_nothing_behind(
    was_there: bool, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither the new directory, nor an empty one in it, nor a lock file; the copies were not touched."""
    bench, new = Bench(clusters, tmp_path / "copies"), tmp_path / "new"
    if was_there:
        new.mkdir()
    words = ["--broker-dir", str(bench.node("basic", 11)), "--node-id", "1", "--missing", "rest", *HERE, *NO_WAIT]
    assert run(["recover", "from-broker", *words, "--dir", str(new), "--apply"]) == 0
    assert (new / ".lock").exists()
    assert run(["recover", "undo", "--dir", str(new), "--apply"]) == 0
    capsys.readouterr()
    assert new.exists() == was_there
    assert not was_there or list(new.iterdir()) == []


def test_a_dry_run_for_a_clone_says_what_else_to_do(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("every-record", 11)
    words = ["--dir", str(node), "--to", OTHER_CLUSTER, "--is-a-clone", "--timeout", "0.3"]
    assert run(["recover", "cluster-id", *words]) == 0
    said = capsys.readouterr().out
    assert "broker 11 registered a log directory of id " in said
    assert said.index("Next:") < said.index("Do the same with every other log directory") < said.index("Nothing was")


def test_a_lock_file_that_a_node_had_left_stays(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    (node / ".lock").touch()
    assert run(["recover", "standalone", "--dir", str(node), "--missing", "rest", "--apply", *NO_WAIT]) == 0
    assert run(["recover", "undo", "--dir", str(node), "--apply"]) == 0
    assert (node / ".lock").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_what_root_writes_belongs_to_whom_the_directory_belongs(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    for path in (node, *node.rglob("*")):
        os.chown(path, 12345, 12346)
    assert run(["recover", "standalone", "--dir", str(node), "--missing", "rest", "--apply", *NO_WAIT]) == 0
    assert {(path.stat().st_uid, path.stat().st_gid) for path in (node, *node.rglob("*"))} == {(12345, 12346)}
    elsewhere = tmp_path / "elsewhere"
    broker, made = Bench(clusters, elsewhere).node("basic", 11), elsewhere / "new"
    for path in (elsewhere, broker):
        os.chown(path, 12345, 12346)
    words = ["recover", "from-broker", "--broker-dir", str(broker), "--dir", str(made), "--node-id", "3"]
    words += ["--endpoint", "CONTROLLER://localhost:1", "--missing", "rest", "--apply", *NO_WAIT]
    assert run(words) == 0
    assert {path.stat().st_uid for path in (made, *made.rglob("*"))} == {12345}
    for path in (path for one in (node, made) for path in Path(f"{one}.recovery").rglob("*")):
        assert (path.stat().st_uid, path.stat().st_gid) != (0, 0), path
    assert {Path(f"{one}.recovery").stat().st_uid for one in (node, made)} == {12345}


def close(directory: Path) -> None:
    """Let only the owner read the directory: a log holds credentials."""
    for path in (directory, *directory.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)


def test_nothing_becomes_readable_for_others(clusters: Path, tmp_path: Path) -> None:
    bench = Bench(clusters, tmp_path)
    elsewhere = Bench(clusters, tmp_path / "elsewhere")
    node, broker, made = bench.node("basic", 1), elsewhere.node("basic", 11), elsewhere.root / "new"
    close(node)
    close(broker)
    (node / "__cluster_metadata-0" / "leader-epoch-checkpoint").unlink()
    assert run(["recover", "standalone", "--dir", str(node), "--missing", "rest", "--apply", *NO_WAIT]) == 0
    words = ["recover", "from-broker", "--broker-dir", str(broker), "--dir", str(made), "--node-id", "3"]
    assert run([*words, "--endpoint", "CONTROLLER://localhost:1", "--missing", "rest", "--apply", *NO_WAIT]) == 0
    for top in (node, made, Path(f"{node}.recovery"), Path(f"{made}.recovery")):
        for path in (top, *top.rglob("*")):
            if path.name not in (".lock", "audit.json", "audit-copy.json"):
                assert path.stat().st_mode & 0o077 == 0, path
    backups = list(Path(f"{node}.recovery").glob("*/backup/*/quorum-state"))
    assert backups
    assert {path.stat().st_mode & 0o777 for path in backups} == {0o600}


def test_a_configuration_that_cannot_be_checked_is_named_and_nothing_is_changed(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("static-3.9", 1)
    config = tmp_path / "server.properties"
    config.write_text("node.id=1\ncontroller.quorum.voters=\\u004\n")
    before = everything(tmp_path)
    words = ["--dir", str(node), "--set", "1@127.0.0.1:1", "--config", str(config), "--missing", "rest", "--apply"]
    assert run(["recover", "static-voters", *words, *NO_WAIT]) == 2
    said = capsys.readouterr().err
    assert re.search(f"^kraft: --config {re.escape(str(config))}.*line 2: .*four hexadecimal digits", said)
    assert {name: data for name, data in everything(tmp_path).items() if not name.endswith(".lock")} == before


def test_programs_are_told_of_nodes_that_only_destroyed_bytes_name(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    assert run(["recover", "inspect", str(node), "-o", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["not_listed"] == []
    log = last_segment(node)
    content = bytearray(log.read_bytes())
    content[3000] ^= 255
    log.write_bytes(content)
    assert run(["recover", "inspect", str(node), "-o", "json"]) == 1
    (said,) = json.loads(capsys.readouterr().out)["not_listed"]
    assert "cannot be known or listed" in said
    assert run(["recover", "inspect", str(node)]) == 1
    assert f"NOT LISTED: {said}." in capsys.readouterr().out


def test_a_directory_that_is_named_twice_is_not_said_to_be_in_use(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    (node / ".lock").touch()
    words = ["--set", "1@host1:9093", "--set", "2@host2:9093", "--set", "3@host3:9093", "--missing", "rest", *NO_WAIT]

    assert run(["recover", "voters", "--dir", str(node), "--dir", f"{node}/../{node.name}", *words]) == 2

    assert capsys.readouterr().err == "kraft: a directory is named twice: name each once\n"


@pytest.mark.parametrize(
    "words",
    [
        ("standalone", "--dir", "NONE", "--missing", "rest"),
        ("standalone", "--dir", "NODE", "--missing", "some"),
        ("standalone", "--dir", "NODE", "--missing", "rest", "--epoch-gap", "1"),
        ("standalone", "--dir", "NODE", "--missing", "rest", "--work", "NODE/backup"),
        ("standalone", "--dir", "NODE/meta.properties", "--missing", "rest"),
        ("voters", "--dir", "NODE", "--set", "nobody", "--missing", "rest"),
        ("voters", "--dir", "NODE", "--set", "1@0.0.0.0:9093", "--missing", "rest"),
        ("voters", "--dir", "NODE", "--set", "1@host1:0", "--missing", "rest"),
        ("from-broker", "--broker-dir", "NODE", "--dir", "NEW", "--node-id", "1", "--endpoint", "host1:9093"),
        ("from-broker", "--broker-dir", "NODE", "--dir", "NEW", "--node-id", "1", "--endpoint", "CONTROLLER://0.0.0.0:1"),
        ("cluster-id", "--dir", "NODE", "--to", "AAAAAAAAAAAAAAAAAAAAAA"),
        ("truncate", "--dir", "NODE", "--missing", "rest"),
        ("truncate", "--dir", "NODE", "--to", "9", "--before", "9", "--missing", "rest"),
        ("undo", "--dir", "NONE"),
        ("inspect", "NONE"),
        ("verify", "NONE"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_the_words_alone_is_wrong_use(words: tuple[str, ...], clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    here = {"NODE": str(node), "NONE": str(tmp_path / "none"), "NEW": str(tmp_path / "new")}
    named = [next((word.replace(name, path) for name, path in here.items() if name in word), word) for word in words]
    assert run(["recover", *named]) == 2


def test_a_dry_run_says_that_the_backup_could_not_be_written(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    words = ["recover", "standalone", "--dir", str(node), "--missing", "rest", *NO_WAIT]
    file = tmp_path / "file"
    file.touch()
    assert run([*words, "--work", f"{file}/backups"]) == 0
    said = capsys.readouterr().out
    assert f"WARNING: --apply could not write its backup below {file}/backups ({file}: Not a directory)" in said
    assert run([*words, "--work", str(tmp_path / "elsewhere" / "backups")]) == 0
    assert "could not write" not in capsys.readouterr().out
    assert not (tmp_path / "elsewhere").exists()


def test_a_repair_that_could_not_be_told_is_said_to_be_done(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    words = [sys.executable, "-m", "quorum.cli.main", "recover", "standalone", "--dir", str(node), "--missing", "rest"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [*words, *NO_WAIT, "--apply"], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert done.returncode == 1
    assert "The repair IS done" in done.stderr
    assert f"kraft recover verify {node}`" in done.stderr
    assert "run this again" not in done.stderr
    assert run(["recover", "verify", str(node)]) == 0


def test_a_reader_that_has_left_is_no_refusal(clusters: Path, tmp_path: Path) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    read, write = os.pipe()
    os.close(read)
    words = [sys.executable, "-m", "quorum.cli.main", "recover", "standalone", "--dir", str(node), "--missing", "rest"]
    with os.fdopen(write, "wb") as gone:
        done = subprocess.run([*words, *NO_WAIT], stdout=gone, env=os.environ | {"PYTHONUNBUFFERED": "1"}, check=False)

    assert done.returncode == 141


def test_a_gap_that_is_none_is_wrong_use_as_a_node_that_is_none(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    node = Bench(clusters, tmp_path).node("basic", 1)
    for words in (["--epoch-gap", "0", "--missing", "rest"], ["--missing", "x"]):
        assert run(["recover", "standalone", "--dir", str(node), *words, *NO_WAIT]) == 2
        assert f"kraft: {words[0]} " in capsys.readouterr().err


def test_counts_and_nodes_are_told_apart(clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(clusters, tmp_path)
    assert run(["recover", "inspect", str(bench.node("basic", 1))]) == 1
    assert "of 3 voters 2 are needed; not here: voter 2, voter 3." in capsys.readouterr().out
