"""Names: what lies in a log directory under an odd one is left alone, and a hostile image makes nothing elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from broker_agent import storage
from broker_agent.changes import NO_TOPIC_CHANGES
from broker_agent.journal import Journal
from broker_agent.partitions import Partitions
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_NAME, NodeId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Offset
from metadata_log.records import RemoveTopicRecord
from tests.support.image_records import directory, image_of, partition, topic, topic_id

OWN = topic(900, METADATA_TOPIC_NAME)
ODD = [
    "zero-00",
    "zero-007",
    "big-2147483648",
    "big-99999999999999999999",
    "negative--01",
    "plus-+1",
    "arabic-\u0663",
    "-0",
    ".-0",
    "..-0",
    "no-number-",
    "line\nfeed-0",
    "blank -0",
    "n\u00fcrnberg-0",
    f"{METADATA_TOPIC_NAME}-1",
    "lost+found",
    f"{'l' * 250}-0",
]


def _agent(root: Path) -> Partitions:
    data = root / "data"
    data.mkdir(exist_ok=True)
    now = [0]
    agent = Partitions(
        OsFiles(),
        NodeId(1),
        {directory(1): str(data)},
        Journal.open(OsFiles(), str(data), NodeId(1), log_end=Offset(9), committed_end=Offset(9)),
        delete_delay_ms=0,
        wall_ms=lambda: now[0],
        monotonic_ms=lambda: now[0],
        new_token=lambda: os.urandom(16),
    )
    agent.open()
    return agent


def _everything(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


@pytest.mark.parametrize("name", ODD)
def test_an_odd_directory_is_left_alone_with_one_warning_that_names_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "data" / name).mkdir(parents=True)
    (tmp_path / "data" / name / "file").write_bytes(b"kept")
    with capture_logs() as said:
        agent = _agent(tmp_path)
        agent.reconcile(image_of(OWN, topic(1, "zero"), partition(1)), NO_TOPIC_CHANGES)
    assert (tmp_path / "data" / name / "file").read_bytes() == b"kept"
    [told] = [line for line in said if line["log_level"] == "warning"]
    assert told["event"] == "a directory that is no partition's is left alone"
    assert told["name"] == (name if name.isprintable() else ascii(name)[1:-1])
    assert [each.name for each in agent.in_use] == ["zero-0"]


def test_a_name_that_is_no_text_is_escaped(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path / "data") + b"/\xff\xfe-0"
    os.makedirs(path)
    with capture_logs() as said:
        _agent(tmp_path)
    [told] = [line for line in said if line["log_level"] == "warning"]
    assert told["name"] == r"\udcff\udcfe-0"
    told["name"].encode()


def test_a_partition_metadata_that_cannot_be_read_is_its_directorys_fault_alone(tmp_path: Path) -> None:
    (tmp_path / "data" / "orders-0").mkdir(parents=True)
    (tmp_path / "data" / "orders-0" / "partition.metadata").symlink_to("partition.metadata")
    agent = _agent(tmp_path)
    agent.reconcile(image_of(OWN, topic(1, "orders"), partition(1)), NO_TOPIC_CHANGES)
    [stray] = agent.quarantined(str(tmp_path / "data"))
    assert stray.startswith("orders-0.")
    assert [each.topic_id for each in agent.in_use] == [topic_id(1)]


@pytest.mark.parametrize("is_file", [True, False])
def test_something_under_a_replicas_name_is_left_alone_and_the_others_are_made(tmp_path: Path, is_file: bool) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "elsewhere").mkdir()
    if is_file:
        (tmp_path / "data" / "a-0").write_bytes(b"mine")
    else:
        (tmp_path / "data" / "a-0").symlink_to(tmp_path / "elsewhere")
    agent = _agent(tmp_path)
    with capture_logs() as said:
        agent.reconcile(image_of(OWN, topic(1, "a"), partition(1), topic(2, "b"), partition(2)), NO_TOPIC_CHANGES)
    assert [each.name for each in agent.in_use] == ["b-0"]
    assert "partition directory not made: something else has its name" in {line["event"] for line in said}
    assert not list((tmp_path / "elsewhere").iterdir())


def test_the_longest_names_are_made_and_quarantined(tmp_path: Path) -> None:
    name = "n" * 249
    agent = _agent(tmp_path)
    image = image_of(OWN, topic(1, name), partition(1, 12345))
    agent.reconcile(image, NO_TOPIC_CHANGES)
    assert [each.name for each in agent.in_use] == [f"{name}-12345"]
    (tmp_path / "data" / f"{name}-12345" / "partition.metadata").unlink()
    again = _agent(tmp_path)
    again.reconcile(image, NO_TOPIC_CHANGES)
    [stray] = again.quarantined(str(tmp_path / "data"))
    assert len(stray) == 255
    assert stray.startswith("nnn")
    assert "n-12345." in stray
    assert [each.name for each in again.in_use] == [f"{name}-12345"]


HOSTILE = [
    "/first",
    "/../../x",
    "../x",
    "..",
    ".",
    "a\0b",
    "a\nb",
    "a/b",
    "x" * 250,
    "n\u00fc",
    METADATA_TOPIC_NAME,
]


def _hostile(name: str) -> MetadataImage:
    """Return an image with a topic that no controller would make."""
    image = image_of(topic(1, "good"), partition(1), topic(2, name), partition(2), topic(3, "last"), partition(3))
    return image if name == METADATA_TOPIC_NAME else image_of(OWN, base=image)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_in_the_image_makes_nothing_and_stops_nothing(tmp_path: Path, name: str) -> None:
    root = tmp_path / "a" / "b" / "c"
    root.mkdir(parents=True)
    (root / "data" / f"{METADATA_TOPIC_NAME}-0").mkdir(parents=True)
    agent = _agent(root)
    before = {path for path in _everything(tmp_path) if "data" not in path}
    with capture_logs() as said:
        agent.reconcile(_hostile(name), NO_TOPIC_CHANGES)
        agent.reconcile(_hostile(name), NO_TOPIC_CHANGES)
    assert [each.name for each in agent.in_use] == ["good-0", "last-0"]
    assert {path for path in _everything(tmp_path) if "data" not in path} == before
    assert not list((root / "data" / f"{METADATA_TOPIC_NAME}-0").iterdir())
    assert list(agent.not_understood) == [(topic_id(2), 0)]
    told = [line for line in said if line["event"].startswith("not understood")]
    assert told[0]["log_level"] == "warning"
    assert str(told[0]["topic"]).isprintable()


@pytest.mark.parametrize(("name", "index"), [("/first", 0), ("..", 0), ("a\0b", 0), ("ok", -1), ("ok", 1 << 31)])
def test_storage_itself_refuses_such_a_name(tmp_path: Path, name: str, index: int) -> None:
    with pytest.raises(ValueError, match=r"no (topic|partition) may have"):
        storage.create(OsFiles(), str(tmp_path), name, index, topic_id(1))
    assert not list(tmp_path.iterdir())


def test_a_removal_never_follows_a_link_out_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_bytes(b"kept")
    agent = _agent(tmp_path)
    image = image_of(OWN, topic(1, "a"), partition(1))
    agent.reconcile(image, NO_TOPIC_CHANGES)
    (tmp_path / "data" / "a-0" / "link").symlink_to(tmp_path / "elsewhere")
    again = _agent(tmp_path)
    again.reconcile(image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=image), NO_TOPIC_CHANGES)
    again.remove_due()
    assert (tmp_path / "elsewhere" / "file").read_bytes() == b"kept"
    assert not (tmp_path / "data" / "deleting").exists()
