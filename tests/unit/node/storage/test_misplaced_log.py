"""A metadata log that is in another of the node's log directories: neither a start nor a format begins a second one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from metadata_log.directory import METADATA_DIRECTORY, MetaProperties, write_meta_properties
from metadata_log.errors import CorruptBatchError, MisplacedLogError
from metadata_log.files.port import read_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch
from metadata_log.ids import DirectoryId, NodeId
from metadata_log.offsets import Epoch, Offset
from quorum.cli.main import run
from quorum.node.config.node_config import NodeConfig, config_of
from quorum.node.storage.open_replica import open_replica
from tests.support.node_cluster import Cluster
from tests.support.node_requests import CLUSTER_ID, DATA

ROOT = Path(__file__).resolve().parents[4]
SPARE = "/spare"
SEGMENT = f"{0:020}.log"
PLANTED = """
import sys
from tests.simulation.planting import Mutant, plant
plant(Mutant(name="an empty disk preferred", module="metadata_log.storage.other_logs",
             was="        if found is not None:\\n", becomes="        if found is not None and not log_dirs:\\n"))
import pytest
sys.exit(pytest.main([sys.argv[1], "-n", "0", "-q", "-p", "no:cacheprovider", "-k", "not planted"]))
"""


@pytest.fixture
def disk() -> SimulatedFiles:
    """The disk of a controller that has led, with a second formatted directory."""
    cluster = Cluster(1, seed=5)
    cluster.start()
    node = cluster.elect()
    node.stop()
    cluster.run_until(lambda: not node.is_up)
    node.files.mkdirs(SPARE)
    meta = MetaProperties(cluster_id=CLUSTER_ID, node_id=node.node_id, directory_id=DirectoryId(b"\x55" * 16))
    write_meta_properties(node.files, SPARE, meta, written_at_ms=0)
    return node.files


def _controller(*log_dirs: str, metadata: str = "") -> NodeConfig:
    node = Cluster(1, seed=5).node(1)
    return msgspec.structs.replace(node.config, log_dirs=log_dirs, metadata_log_dir=metadata or log_dirs[0])


def _agent(*log_dirs: str) -> NodeConfig:
    return config_of(
        {
            "process.roles": "broker",
            "node.id": "1",
            "listeners": "GRPC://b:9096",
            "log.dirs": ",".join(log_dirs),
            "controller.quorum.bootstrap.servers": "c1:9094",
        }
    )


@pytest.mark.parametrize(
    "config", [_controller(SPARE, DATA), _controller(DATA, metadata=SPARE), _agent(SPARE, DATA)],
    ids=["order of log.dirs", "metadata.log.dir", "agent"],
)  # fmt: skip
def test_a_node_does_not_begin_an_empty_log_beside_its_own(config: NodeConfig, disk: SimulatedFiles) -> None:
    with pytest.raises(MisplacedLogError) as caught:
        open_replica(disk, config)

    said = str(caught.value)
    assert said.startswith(f"{SPARE} is to hold the metadata log and has no record of it, while {DATA}, another of")
    assert f"set metadata.log.dir={DATA} (or put it first in log.dirs again" in said
    assert f"move {DATA}/{METADATA_DIRECTORY} away" in said
    assert f"If the disk of {SPARE} is not mounted: mount it" in said
    assert ("this node's votes" in said, "lead an empty quorum" in said) == (config.is_controller, config.is_controller)
    assert not disk.exists(f"{SPARE}/{METADATA_DIRECTORY}")


def _put(disk: SimulatedFiles, log_dir: str, name: str, data: bytes) -> None:
    disk.mkdirs(f"{log_dir}/{METADATA_DIRECTORY}")
    with closing(disk.open(f"{log_dir}/{METADATA_DIRECTORY}/{name}", create=True)) as handle:
        handle.pwrite(data, 0)


def _first_batch(disk: SimulatedFiles) -> bytes:
    return read_file(disk, f"{DATA}/{METADATA_DIRECTORY}/{SEGMENT}")


def _changed(data: bytes) -> bytes:
    return data[:-1] + bytes((data[-1] ^ 1,))


BLANK = {
    "zeros": (SEGMENT, lambda _: bytes(100_000)),
    "torn": (SEGMENT, lambda batch: batch[:65]),
    "another checksum": (SEGMENT, lambda batch: _changed(batch[: 12 + int.from_bytes(batch[8:12])])),
    "a segment of a later offset": (f"{7:020}.log", lambda _: b""),
    "a checkpoint of zeros": (f"{7:020}-{1:010}.checkpoint", lambda _: bytes(500)),
}


@pytest.mark.parametrize("case", BLANK)
@pytest.mark.parametrize("make", [_controller, _agent])
def test_files_without_a_whole_batch_are_no_log(
    make: Callable[..., NodeConfig], case: str, disk: SimulatedFiles
) -> None:
    """An empty directory is not preferred because a file of it has a size."""
    name, content = BLANK[case]
    _put(disk, SPARE, name, content(_first_batch(disk)))

    with pytest.raises(MisplacedLogError):
        open_replica(disk, make(SPARE, DATA))


@pytest.mark.parametrize("case", BLANK)
def test_such_files_elsewhere_forbid_no_start(case: str) -> None:
    cluster = Cluster(1, seed=5)
    files = cluster.nodes[0].files
    _put(files, SPARE, SEGMENT, b"")
    meta = MetaProperties(cluster_id=CLUSTER_ID, node_id=NodeId(1), directory_id=DirectoryId(b"\x55" * 16))
    write_meta_properties(files, SPARE, meta, written_at_ms=0)
    name, content = BLANK[case]
    _put(files, SPARE, name, content(build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=0, values=[b"v"])))

    opened = open_replica(files, _controller(DATA, SPARE))
    opened.abandon()
    assert opened.storage.end.offset == 0


def test_a_batch_behind_damage_is_a_log(disk: SimulatedFiles) -> None:
    """The damage is what a start must speak of, not the place."""
    whole = read_file(disk, f"{DATA}/{METADATA_DIRECTORY}/{SEGMENT}")
    _put(disk, SPARE, SEGMENT, _changed(whole[:80]) + whole[80:])

    with pytest.raises(CorruptBatchError, match="holds a sound batch"):
        open_replica(disk, _agent(SPARE, DATA))


def test_an_unformatted_directory_is_not_preferred_either(disk: SimulatedFiles) -> None:
    """The advice to format it would begin an empty log."""
    with pytest.raises(MisplacedLogError):
        open_replica(disk, _controller(DATA, metadata="/not-there"))


def test_both_ways_out_lead_to_a_start(disk: SimulatedFiles) -> None:
    back = open_replica(disk, _controller(SPARE, DATA, metadata=DATA))
    back.abandon()
    assert back.storage.end.offset > 0

    for name in disk.listdir(f"{DATA}/{METADATA_DIRECTORY}"):
        disk.unlink(f"{DATA}/{METADATA_DIRECTORY}/{name}")
    on_purpose = open_replica(disk, _agent(SPARE, DATA))
    on_purpose.abandon()
    assert on_purpose.storage.end.offset == 0


def test_a_log_in_its_place_is_used_whatever_the_others_hold(disk: SimulatedFiles) -> None:
    disk.mkdirs(f"{SPARE}/{METADATA_DIRECTORY}")
    disk.open(f"{SPARE}/{METADATA_DIRECTORY}/{0:020d}.log", create=True).close()
    for order in ((DATA, SPARE), (SPARE, DATA)):
        opened = open_replica(disk, _controller(*order, metadata=DATA))
        opened.abandon()
        assert opened.storage.end.offset > 0


@pytest.mark.parametrize("more", [["--standalone"], ["--standalone", "--ignore-formatted"]])
def test_format_refuses_to_make_room_for_an_empty_log(
    more: list[str], clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = clusters / "basic" / "node-1" / "data"
    spare, file = tmp_path / "spare", tmp_path / "node.properties"
    file.write_text(
        f"process.roles=controller\nnode.id=1\nlisteners=CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2\n"
        f"log.dirs={spare},{own}\n"
    )
    cluster_id = next(
        line.partition("=")[2]
        for line in (own / "meta.properties").read_text().splitlines()
        if line.startswith("cluster.id=")
    )

    assert run(["storage", "format", "-c", str(file), "-t", cluster_id, *more]) != 0

    said = capsys.readouterr().err
    assert f"{spare} is to hold the metadata log" in said
    assert str(own) in said
    assert not spare.exists()


@pytest.mark.campaign  # the tests that notice it run with all others
def test_the_planted_bug_of_an_empty_disk_is_noticed() -> None:
    """Planted: a directory without records is preferred. The tests of this file fail then."""
    done = subprocess.run(
        [sys.executable, "-c", PLANTED, __file__],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_a_node_does_not_begin_an_empty_log_beside_its_own" in done.stdout
    assert "test_format_refuses_to_make_room_for_an_empty_log" in done.stdout
