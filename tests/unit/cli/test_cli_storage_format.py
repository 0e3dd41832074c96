"""`kraft storage format`: what --initial-controllers says of this node is what its file says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.main import run

Capture = pytest.CaptureFixture[str]

CLUSTER = "TmV3bHlNYWRlQ2x1c3Rlcg"
OWN, OTHER = "ZGlyZWN0b3J5LWlkLTAwMQ", "ZGlyZWN0b3J5LWlkLTAwMg"
SECOND = f"2@c2:9093/9094:{OTHER}"


def formatted(tmp_path: Path, voters: str, **more: str) -> int:
    properties = {
        "process.roles": "controller",
        "node.id": "1",
        "listeners": "CONTROLLER://c1:9093,GRPC://c1:9094",
        "controller.quorum.bootstrap.servers": "c1:9094,c2:9094",
        "log.dirs": str(tmp_path / "data"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }
    config = tmp_path / "c1.properties"
    config.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    return run(["storage", "format", "-c", str(config), "-t", CLUSTER, "--initial-controllers", voters])


@pytest.mark.parametrize(
    ("own", "listener", "configured"),
    [
        ("c1:9999/9094", "CONTROLLER://c1:9999", "CONTROLLER://c1:9093"),
        ("c1:9093/9999", "GRPC://c1:9999", "GRPC://c1:9094"),
        ("c9:9093/9094", "CONTROLLER://c9:9093", "CONTROLLER://c1:9093"),
        ("c1:9094/9093", "CONTROLLER://c1:9094", "CONTROLLER://c1:9093"),
    ],
)
def test_an_own_entry_with_another_address_is_refused(
    own: str, listener: str, configured: str, tmp_path: Path, capsys: Capture
) -> None:
    assert formatted(tmp_path, f"1@{own}:{OWN},{SECOND}") == 2
    said = capsys.readouterr().err
    assert said.startswith(f"kraft: --initial-controllers 1@{own}:{OWN}: ")
    assert f"has {listener}, but by {tmp_path / 'c1.properties'} it is reached at {configured}: correct" in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("own", ["c1:9093/9094", "C1:9093/9094", "c1:9093"])
def test_an_own_entry_that_agrees_is_taken(own: str, tmp_path: Path) -> None:
    """Without our GRPC port, too: in a mixed quorum Kafka's tool has no room for it."""
    assert formatted(tmp_path, f"1@{own}:{OWN},{SECOND}") == 0


def test_what_counts_is_the_address_that_others_are_told(tmp_path: Path, capsys: Capture) -> None:
    bound, told = "CONTROLLER://:9093,GRPC://:9094", "CONTROLLER://gate:19093,GRPC://gate:19094"
    more = {"listeners": bound, "advertised_listeners": told}
    assert formatted(tmp_path, f"1@c1:9093/9094:{OWN},{SECOND}", **more) == 2
    assert "it is reached at CONTROLLER://gate:19093" in capsys.readouterr().err
    assert formatted(tmp_path, f"1@gate:19093/19094:{OWN},{SECOND}", **more) == 0


def test_two_voters_at_one_address_are_refused(tmp_path: Path, capsys: Capture) -> None:
    assert formatted(tmp_path, f"1@c1:9093/9094:{OWN},2@c1:9093/9095:{OTHER}") == 2
    assert "c1:9093 is the address of CONTROLLER of voter 1 and of CONTROLLER of voter 2" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


OTHER_NAME = {
    "listeners": "CONTROLPLANE-9090://c1:9093,GRPC://c1:9094",
    "controller_listener_names": "CONTROLPLANE-9090,GRPC",
}


def test_the_first_voters_have_the_listeners_names_of_the_file(tmp_path: Path, capsys: Capture) -> None:
    assert formatted(tmp_path, f"1@c1:9999/9094:{OWN},{SECOND}", **OTHER_NAME) == 2
    assert "has CONTROLPLANE-9090://c1:9999, but by" in capsys.readouterr().err
    assert formatted(tmp_path, f"1@c1:9093/9094:{OWN},{SECOND}", **OTHER_NAME) == 0
    capsys.readouterr()
    assert run(["log", "dump", str(tmp_path / "data")]) == 0
    said = capsys.readouterr().out
    assert said.count("CONTROLPLANE-9090") == 2
    assert '"CONTROLLER"' not in said


def test_log_dir_is_formatted_where_there_is_no_log_dirs(tmp_path: Path, capsys: Capture) -> None:
    assert formatted(tmp_path, f"1@c1:9093/9094:{OWN},{SECOND}", log_dirs="", log_dir=f"{tmp_path}/a,{tmp_path}/b") == 0
    out = capsys.readouterr().out
    assert [line.split()[1] for line in out.splitlines()] == [f"{tmp_path}/a", f"{tmp_path}/b"]
    assert run(["storage", "info", "-c", str(tmp_path / "c1.properties"), "-o", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["directories"]
    assert [(row["directory"], row["node_id"]) for row in rows] == [(f"{tmp_path}/a", 1), (f"{tmp_path}/b", 1)]


def test_a_combined_nodes_file_is_refused_with_what_to_do(tmp_path: Path, capsys: Capture) -> None:
    assert formatted(tmp_path, f"1@c1:9093/9094:{OWN},{SECOND}", process_roles="broker,controller") == 1
    said = capsys.readouterr().err
    assert "Kafka's broker with this file, process.roles=broker and its node.id; and this controller, with" in said
    assert not (tmp_path / "data").exists()
