"""Commands that show or copy metadata, beside a checkpoint whose name is wrong: none takes its image for a state."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path

import pytest

import kraft
from tests.support.called import Ran

METADATA = "data/__cluster_metadata-0"
SPARED, LONE = "00000000000000000300-0000000009.checkpoint", "00000000000000000260-0000000001.checkpoint"
"""Of node 11, where an older one and the log have all; and the only one of node 2."""
HASH = "a672748e487edbbfc40ec92bb834ce8b0a4659846adc6f32f82cc473428299d2"
"""Of the metadata up to offset 326, on every node of the scenario."""


@pytest.fixture
def nodes(clusters: Path, tmp_path: Path) -> Path:
    """Nodes 11 and 2 of a cluster, each with a renamed checkpoint."""
    for node, old, new in ((11, "310-0000000009", SPARED), (2, "244-0000000001", LONE)):
        shutil.copytree(clusters / f"failovers/node-{node}", tmp_path / f"node-{node}")
        metadata = tmp_path / f"node-{node}" / METADATA
        (metadata / f"{'0' * 17}{old}.checkpoint").rename(metadata / new)
    return tmp_path


@pytest.mark.parametrize(
    "command", [("shell", "NODE", "hash"), ("log", "hash", "NODE"), ("snapshot", "save", "NODE", "BACKUP")]
)
def test_a_state_is_replayed_without_it(command: tuple[str, ...], nodes: Path, ran: Ran) -> None:
    for node, name in (("node-11", SPARED), ("node-2", LONE)):
        places = {"NODE": nodes / node, "BACKUP": nodes / f"{node}.backup"}

        status, out, err = ran(*(places.get(word, word) for word in command))

        assert f"{nodes / node / METADATA / name} is left out, since it is misnamed: " in err
        assert (status, HASH in out) == ((0, True) if node == "node-11" else (1, False))
        if node == "node-2":
            assert f"what was before is not known; {name} is misnamed" in err
            assert not places["BACKUP"].exists()


@pytest.mark.parametrize(
    "command",
    [
        ("log", "export", "NODE", "COPY"),
        ("log", "dump", "NODE"),
        ("log", "timeline", "NODE"),
        ("log", "hash", "NODE", "--at", "320"),
        ("features", "check", "NODE", "--target", "4.4"),
    ],
)
def test_what_shows_a_log_names_it(command: tuple[str, ...], nodes: Path, ran: Ran) -> None:
    places = {"NODE": nodes / "node-11", "COPY": nodes / "copy"}

    status, _, err = ran(*(places.get(word, word) for word in command))

    assert any(SPARED in line and "misnamed" in line for line in err.splitlines())
    assert status == (0 if "hash" in command else 1)


@pytest.mark.parametrize("command", [("shell", "FILE", "hash"), ("log", "hash", "FILE"), ("log", "dump", "FILE")])
def test_the_file_itself_is_no_state(command: tuple[str, ...], nodes: Path, ran: Ran) -> None:
    file = nodes / "node-11" / METADATA / SPARED

    status, _, err = ran(*(file if word == "FILE" else word for word in command))

    assert status == 1
    assert f"{file} is misnamed: its name says epoch 9, but the log has epoch 8 before it" in err


def test_storage_info_does_not_call_it_well(nodes: Path, ran: Ran) -> None:
    _, out, _ = ran("storage", "info", nodes / "node-11/data", "-o", "json")
    assert f"{SPARED} is misnamed" in out


def test_the_package_warns_of_it(nodes: Path) -> None:
    with pytest.warns(kraft.IncompleteWarning, match="is left out, since it is misnamed"):
        image = kraft.image_at(nodes / "node-11")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kraft.IncompleteWarning)
        assert image.offset_and_epoch.offset == 326
        with pytest.raises(kraft.MetadataLogError, match=f"{LONE} is misnamed"):
            kraft.image_at(nodes / "node-2")
