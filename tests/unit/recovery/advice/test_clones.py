"""Clones with a cluster id of their own: nothing that is recommended is aimed at the first cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import run
from tests.support.misuses import CLUSTER, NO_WAIT, OTHER_CLUSTER, Bench

OWN = "CONTROLLER://127.0.0.1:29109"


def recover(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    run(["recover", *map(str, words)])
    return capsys.readouterr().out


def renamed(bench: Bench, capsys: pytest.CaptureFixture[str], *nodes: int) -> list[Path]:
    """Log directories of these nodes, each with the clone's id."""
    found = [bench.node("basic", node) for node in nodes]
    for one in found:
        recover(capsys, "cluster-id", "--dir", one, "--to", OTHER_CLUSTER, "--is-a-clone", "--apply", *NO_WAIT)
    return found


def inspected(capsys: pytest.CaptureFixture[str], *dirs: Path) -> Any:
    return json.loads(recover(capsys, "inspect", *dirs, "-o", "json"))


def test_one_controller_of_a_clone_gets_an_address_of_its_own(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    one, *brokers = renamed(bench, capsys, 1, 11, 12)
    found = inspected(capsys, one, *brokers)
    assert f"This is a clone of cluster {CLUSTER} (kraft recover cluster-id, " in found["situation"]
    assert found["situation"].endswith("Whatever answers there is not this clone's: do not touch it.")
    first, trial, done, *_ = found["steps"]
    assert first["text"].startswith(f"Cut this clone off from cluster {CLUSTER} (firewall), and stop nothing of that ")
    assert not [step for step in found["steps"] if "Power it off" in step["text"]]
    assert trial["commands"][0].startswith(f"kraft recover standalone --dir {one} --endpoint CONTROLLER://HOST:PORT ")
    words = done["commands"][0].replace("CONTROLLER://HOST:PORT", OWN).split()[2:]
    said = recover(capsys, *words, *NO_WAIT)
    assert "On each other controller (2, 3; those of the clone: nothing is done to cluster " in said
    assert "give it another address" not in said
    repaired = inspected(capsys, one, *brokers)
    assert "a clone of cluster" not in repaired["situation"]
    assert not [step for step in repaired["steps"] if "firewall" in step["text"]]


def test_a_repair_that_keeps_the_first_clusters_address_warns(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = renamed(bench, capsys, 1)
    said = recover(capsys, "standalone", "--dir", one, "--missing", "rest", *NO_WAIT)
    assert (
        f"this address belongs to a voter of cluster {CLUSTER}, of which this is a clone. Unless the clone has an"
        in said
    )
    assert f"WARNING: controllers are those of the clone here: stop and change nothing of cluster {CLUSTER}." in said


def test_a_majority_of_clones_gets_its_addresses_before_it_starts(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    dirs = renamed(bench, capsys, 1, 2, 3)
    first, second, *rest = inspected(capsys, *dirs)["steps"]
    assert first["text"].startswith(f"Cut the clones off from cluster {CLUSTER} (firewall), and stop nothing of that")
    assert first["commands"][0].startswith("kraft recover voters ")
    assert second["text"].startswith("Then start controllers ")
    assert not [step for step in rest if step["commands"]]


def test_a_directory_that_got_its_id_back_is_no_clone(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = renamed(bench, capsys, 1)
    recover(capsys, "undo", "--dir", one, "--apply")
    assert "a clone of cluster" not in inspected(capsys, one)["situation"]


def test_where_a_new_id_leads(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--to", OTHER_CLUSTER, "--is-a-clone", *NO_WAIT]
    said = recover(capsys, "cluster-id", "--dir", bench.node("basic", 1), *words)
    assert "`kraft recover standalone --endpoint LISTENER://HOST:PORT` if one controller is here, with" in said
    assert f"kraft recover inspect {bench.node('basic', 1)} COPY" in said
    of_a_broker = recover(capsys, "cluster-id", "--dir", bench.node("basic", 11), *words)
    assert "addresses in the log" not in of_a_broker
    assert "kraft recover inspect CONTROLLER_DIR COPY" in of_a_broker


def test_clones_with_the_first_clusters_addresses_are_not_verified(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    dirs = renamed(bench, capsys, 1, 2, 3)
    assert run(["recover", "verify", *map(str, dirs)]) == 1
    said = capsys.readouterr().out
    assert f"WRONG: This is a clone of cluster {CLUSTER} (kraft recover cluster-id, " in said
    assert f"own addresses into it: kraft recover inspect {dirs[0]} {dirs[1]} {dirs[2]} prints the commands" in said
    assert "Next:" not in said
    words = [word for one in dirs for word in ("--dir", one)]
    sets = [word for node in (1, 2, 3) for word in ("--set", f"{node}@127.0.0.1:{29100 + node}")]
    recover(capsys, "voters", *words, *sets, "--missing", "rest", "--apply", *NO_WAIT)
    assert run(["recover", "verify", *map(str, dirs)]) == 0
    assert "a clone of cluster" not in capsys.readouterr().out


def test_an_id_that_was_given_already_leads_to_the_next_step(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    (one,) = renamed(bench, capsys, 1)
    run(["recover", "cluster-id", "--dir", str(one), "--to", OTHER_CLUSTER, "--is-a-clone", *NO_WAIT])
    said = capsys.readouterr().err
    assert "nothing was changed. Do the same with every other log directory of the clone, " in said
    assert f"kraft recover inspect {one} COPY" in said
    assert "start them" not in said
