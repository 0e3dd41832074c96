"""The next steps in refusals and dry runs of `kraft recover` can be done, and lead on."""

from __future__ import annotations

import json
import re

import pytest

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.storage.segment import segment_file
from quorum.cli.main import run
from quorum.recovery.guards.liveness import EndpointState
from tests.support.kafka.runbook import RUNBOOKS
from tests.support.misuses import CLUSTER, NO_WAIT, OTHER_CLUSTER, Bench, last_segment


def recover(capsys: pytest.CaptureFixture[str], *words: object, fails: bool = False) -> str:
    assert (run(["recover", *map(str, words)]) != 0) is fails
    said = capsys.readouterr()
    return said.err if fails else said.out


def from_broker(bench: Bench, *words: object, broker: int = 12, node_id: int = 1, port: int = 29101) -> list[object]:
    at = ("--endpoint", f"CONTROLLER://127.0.0.1:{port}", "--node-id", node_id)
    source = ("--broker-dir", bench.node("basic", broker))
    return ["from-broker", *source, "--dir", bench.root / "new", *at, "--missing", "rest", *NO_WAIT, *words]


@pytest.mark.parametrize("said", ["2,3", "11,12", "2,12"])
def test_the_missing_that_are_named_are_all_that_is_needed(
    bench: Bench, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    words = ["standalone", "--dir", bench.node("basic", 1), *NO_WAIT]
    named = re.search(r"add --missing (\S+)", recover(capsys, *words, "--missing", said, fails=True))
    assert named is not None
    assert named[1] == "2,3,11,12"
    recover(capsys, *words, "--missing", named[1])


def test_an_id_and_an_address_that_no_controller_had(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    strange = recover(capsys, *from_broker(bench, node_id=7, port=1))
    assert "WARNING: --node-id 7 never was a controller's here, those were 1, 2, 3: brokers find this one" in strange
    assert "WARNING: no lost controller listened at CONTROLLER://127.0.0.1:1, but at 127.0.0.1:29101, 127" in strange
    usual = recover(capsys, *from_broker(bench))
    assert "never was a controller" not in usual
    assert "no lost controller listened" not in usual


def test_a_surviving_controllers_directory_needs_no_new_one(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    said = recover(capsys, *from_broker(bench, broker=1))
    log_dir = bench.node("basic", 1)
    assert f"node 1 ({log_dir}) is a surviving controller's directory, not a broker's" in said
    line = re.search(r"`kraft (recover standalone .*)` makes it go on in place", said)
    assert line is not None
    assert line[1] == f"recover standalone --dir {log_dir} --missing 2,3,11,12"
    assert "surviving controller's directory" not in recover(capsys, *from_broker(bench))


def test_what_cannot_be_read_is_not_called_gone(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    unread, voter = bench.node("basic", 2), bench.node("basic", 1)
    segment = last_segment(unread)
    segment.unlink()
    segment.mkdir()
    assert run(["recover", "inspect", str(unread), str(voter), "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    commands = [command for step in found["steps"] for command in step["commands"] if "--missing" in command]
    assert commands
    assert all("--missing 3,11,12" in command for command in commands)


@pytest.mark.parametrize("reserved", ["A" * 22, "A" * 21 + "Q"])
def test_an_id_that_stands_for_something_else_is_none(
    reserved: str, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["cluster-id", "--dir", bench.node("basic", 1), "--to", reserved, *NO_WAIT]
    said = recover(capsys, *words, fails=True)
    assert f"--to {reserved}: this id is reserved, and no cluster's; make one with" in said


def test_nothing_to_do_says_what_then(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = bench.node("basic", 1)
    same = recover(capsys, "cluster-id", "--dir", node, "--to", CLUSTER, *NO_WAIT, fails=True)
    assert "nothing was changed: start them, or give them another id" in same
    past = recover(capsys, "truncate", "--dir", node, "--to", 999, "--missing", "rest", *NO_WAIT, fails=True)
    assert "so --to 999 cuts nothing: give an offset before that, or leave the log as it is and start" in past


@pytest.mark.parametrize("to", [300, 326, 999])
def test_no_cut_behind_the_damage_advises_to_start_the_node(
    to: int, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node, *others = (bench.node("failovers", each) for each in (2, 1, 3))
    segment = node / METADATA_DIRECTORY / segment_file(244)
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(data)
    words = ["truncate", "--dir", node, *(word for other in others for word in ("--copy", other)), *NO_WAIT]
    said = recover(capsys, *words, "--to", to, "--missing", "rest", fails=True)
    assert f"ends at offset 280 already, so --to {to} cuts nothing: give at most 280, or see what" in said
    assert "Do not start the node as it is: it is damaged: " in said
    assert "and start the node" not in said
    assert "ends at offset 280 then" in recover(capsys, *words, "--to", 280, "--missing", "rest")


def test_another_cluster_id_says_who_was_asked(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    said = recover(capsys, "cluster-id", "--dir", bench.node("basic", 1), "--to", OTHER_CLUSTER, *NO_WAIT)
    asked = said[said.index("Asked for a live leader:") :]
    assert f"  127.0.0.1:29101: {EndpointState.NOBODY}, " in asked


def test_the_runbooks_way_from_a_survivor_to_a_brokers_copy(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    page = (RUNBOOKS / "majority-lost.md").read_text(encoding="utf-8")
    written = re.search(r"^`kraft recover (from-broker .*)`,$", page, re.MULTILINE)
    assert written is not None
    line = written[1].replace("host1:9093", "127.0.0.1:29101")
    for path, here in (
        ("/var/lib/kafka/data.survivor", bench.node("basic", 1)),
        ("/var/lib/kafka/data", bench.root / "new"),
        ("copies/broker-11", bench.node("basic", 11)),
        ("copies/broker-12", bench.node("basic", 12)),
    ):
        line = line.replace(path, str(here))
    assert "Would do: kraft recover from-broker" in recover(capsys, *line.split(), *NO_WAIT)
