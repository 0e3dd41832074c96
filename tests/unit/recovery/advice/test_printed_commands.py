"""Every command that inspect and refusals print runs as printed, once names and addresses are filled in."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import NO_WAIT, Bench, damaged, flipped, last_segment, lonely_copy, metadata


def said_of(capsys: pytest.CaptureFixture[str], words: Sequence[object]) -> tuple[int, str]:
    capsys.readouterr()
    status = run([*map(str, words)])
    said = capsys.readouterr()
    return status, said.out + said.err


def inspected(capsys: pytest.CaptureFixture[str], *paths: Path) -> str:
    return said_of(capsys, ["recover", "inspect", *paths])[1]


def printed(said: str, root: Path) -> list[list[str]]:
    """The lines of `kraft recover`, with ports and a directory of our own for what the user fills in."""
    ports = count(1)
    lines = re.findall(r"^ +kraft (recover .*)$", said, re.MULTILINE)
    lines = [re.sub(r"HOST:(GRPC-)?PORT", lambda _: f"localhost:{next(ports)}", line) for line in lines]
    lines = [re.sub("GRPC-PORT", lambda _: f"{next(ports)}", line) for line in lines]
    return [shlex.split(line.replace("NEW_DATA_DIR", f"{root}/new")) for line in lines]


def play(capsys: pytest.CaptureFixture[str], said: str, root: Path) -> list[str]:
    """Run the commands of a plan in their order, a dry run before each; give their names."""
    names = []
    for words in printed(said, root):
        names.append(words[1])
        wait = () if words[1] in ("verify", "undo", "inspect") else NO_WAIT
        for tried in dict.fromkeys([tuple(word for word in words if word != "--apply"), tuple(words)]):
            status, heard = said_of(capsys, [*tried, *wait])
            assert status == 0, (tried, heard)
    return names


def two_of_three(bench: Bench) -> list[Path]:
    return [bench.node("basic", 1), bench.node("basic", 2), bench.node("basic", 11)]


def bad_checkpoint(bench: Bench) -> list[Path]:
    nodes = [bench.node("every-record", node) for node in (1, 2, 3)]
    flipped(max(metadata(nodes[0]).glob("*.checkpoint")), 200)
    return nodes


def no_meta_beside_a_broker(bench: Bench) -> list[Path]:
    node = bench.node("basic", 2)
    (node / "meta.properties").unlink()
    return [node, bench.node("basic", 11)]


def forked(bench: Bench) -> list[Path]:
    """A broker whose log goes on in an older epoch than the survivor's."""
    return [bench.node("every-record", 2), bench.node("every-record", 11)]


PLANS: Sequence[tuple[str, Callable[[Bench], list[Path]], list[str]]] = (
    ("a survivor", lambda b: [b.node("basic", 1)], ["standalone", "standalone", "verify"]),
    ("a survivor and a broker", lambda b: [b.node("basic", 1), b.node("basic", 12)], ["standalone"] * 2 + ["verify"]),
    ("brokers", lambda b: [b.node("basic", 11), b.node("basic", 12)], ["from-broker", "from-broker", "verify"]),
    ("a sound majority", two_of_three, ["voters"]),
    ("a damaged checkpoint among sound voters", bad_checkpoint, ["drop-snapshot", "voters"]),
    ("all voters", lambda b: [b.node("basic", node) for node in (1, 2, 3)], ["voters"]),
    ("a damaged log", lambda b: [damaged(b)], ["truncate", "truncate", "standalone", "standalone", "verify"]),
    ("no meta.properties", no_meta_beside_a_broker, ["from-broker", "from-broker", "verify"]),
    ("a broker ahead", forked, ["from-broker", "from-broker", "verify"]),
    ("a static voter", lambda b: [b.node("static-3.9", 2)], ["static-voters", "static-voters", "verify"]),
    ("a broker of static voters", lambda b: [b.node("static-3.9", 11)], ["from-broker", "from-broker", "verify"]),
)


@pytest.mark.parametrize(("name", "make", "commands"), PLANS, ids=[name for name, _, _ in PLANS])
def test_the_commands_of_a_plan_run_as_printed(
    name: str,
    make: Callable[[Bench], list[Path]],
    commands: list[str],
    bench: Bench,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert play(capsys, inspected(capsys, *make(bench)), bench.root) == commands


def test_what_is_mended_offline_comes_before_any_start(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Once a leader answers, drop-snapshot is refused."""
    said = inspected(capsys, *bad_checkpoint(bench))
    assert said.index("kraft recover drop-snapshot") < said.index("Then start controllers ")
    assert {"1", "2", "3"} == set(re.findall(r"Then start controllers (\d), (\d), (\d):", said)[0])


def test_a_voter_that_is_not_here_is_not_set(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    said = inspected(capsys, *two_of_three(bench))
    assert "--set 3@" not in said
    assert "Name also directory and address of 3, once it is here and sound" in said


def test_a_copy_of_no_known_cluster_is_not_made_a_controller(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    alone = bench.node("basic", 2)
    (alone / "meta.properties").unlink()
    said = inspected(capsys, alone)
    assert printed(said, bench.root) == []
    assert "no copy here says which cluster this is: bring the file back" in said
    assert "Bring the meta.properties of one of these directories back" in said
    assert "restore a backup" not in said
    shutil.copytree(alone, bench.root / "other")
    assert printed(inspected(capsys, alone, lonely_copy(bench).parent), bench.root) == []


def test_the_refusal_of_damage_prints_a_command_that_runs(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node, other = damaged(bench), bench.node("basic", 11)
    words = ["recover", "standalone", "--dir", node, "--copy", other, "--missing", "rest", *NO_WAIT]
    status, said = said_of(capsys, words)
    assert status == 1
    line = shlex.split(said.strip().partition("first: kraft ")[2])
    assert ("--copy", str(other)) == tuple(line[6:8])
    status, said = said_of(capsys, [*line, *NO_WAIT])
    assert status == 0, said


def test_the_refusal_of_a_torn_log_prints_a_command_that_runs(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = bench.node("basic", 1)
    for index in (*metadata(node).glob("*.index"), *metadata(node).glob("*.timeindex")):
        index.unlink()  # one would say that the log was closed after its last write
    with last_segment(node).open("r+b") as log:
        log.truncate(last_segment(node).stat().st_size - 3)
    status, said = said_of(capsys, ["recover", "rebuild-indexes", "--dir", node])
    assert status == 1
    line = shlex.split(said.strip().partition("First: kraft ")[2])
    assert line[:2] == ["recover", "truncate"]
    status, said = said_of(capsys, [*line, *NO_WAIT])
    assert status == 0, said


def test_nothing_is_offered_where_nothing_would_be_left(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = bench.node("basic", 1)
    status, said = said_of(capsys, ["recover", "truncate", "--dir", node, "--to", 0, "--missing", "rest", *NO_WAIT])
    assert status == 1
    assert "--to 0 would leave nothing of the log" in said
    flipped(last_segment(node), 30)
    status, said = said_of(capsys, ["recover", "standalone", "--dir", node, "--missing", "rest", *NO_WAIT])
    assert status == 1
    assert "nothing before that is intact" in said
    assert "truncate" not in said


def test_a_locked_directory_is_no_advice_about_log_dirs(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = bench.running("basic", 1)
    _, said = said_of(capsys, ["recover", "standalone", "--dir", node, "--missing", "rest", *NO_WAIT])
    bench.stop()
    assert "Stop it and run the command again" in said
    assert "log.dirs" not in said


def ours(bench: Bench, capsys: pytest.CaptureFixture[str]) -> list[Path]:
    """Return three voters with GRPC listeners, as our own controllers have them."""
    nodes = [bench.node("basic", node) for node in (1, 2, 3)]
    words = [
        word
        for node, path in enumerate(nodes, 1)
        for word in ("--dir", path, "--set", f"{node}@127.0.0.1:{node}/{node}1")
    ]
    status, said = said_of(capsys, ["recover", "voters", *words, "--missing", "rest", "--apply", *NO_WAIT])
    assert status == 0, said
    for path in nodes:
        shutil.rmtree(f"{path}.recovery")
    return nodes


def test_plans_for_controllers_of_ours_name_their_grpc_ports(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = ours(bench, capsys)
    said = inspected(capsys, *nodes)
    assert "--set 1@HOST:PORT/GRPC-PORT --set 2@HOST:PORT/GRPC-PORT --set 3@HOST:PORT/GRPC-PORT" in said
    assert play(capsys, said, bench.root) == ["voters"]
    (nodes[1] / "meta.properties").unlink()
    said = inspected(capsys, nodes[1], bench.node("basic", 11))
    assert "--endpoint CONTROLLER://HOST:PORT --endpoint GRPC://HOST:GRPC-PORT" in said
    assert "kraft controller start --config node.properties" in said
    assert "kafka-server-start" not in said
    words = printed(said, bench.root)[0]
    kafkas_alone = [word for word in words if not word.startswith("GRPC:")]
    del kafkas_alone[kafkas_alone.index("--endpoint", kafkas_alone.index("--endpoint") + 1)]
    status, said = said_of(capsys, [*kafkas_alone, *NO_WAIT])
    assert status == 1
    assert "name that, too, --endpoint GRPC://HOST:PORT" in said
    words += [*NO_WAIT, "--apply"]
    status, said = said_of(capsys, words)
    assert status == 0, said
    assert "kraft controller start --config node.properties" in said
    assert "kafka-server-start" not in said
