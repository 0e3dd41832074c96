"""A cold read that fails stops the node, unless the log was cut meanwhile, so that the bytes need not be there."""

from __future__ import annotations

import pytest

from metadata_log.errors import CorruptBatchError
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch, parse_header
from metadata_log.offsets import Epoch, Offset
from metadata_log.storage.file_log import FileLog, LogConfig, LogWriter, open_log
from quorum.node.core.effects import Effects
from quorum.node.core.ports import Ports
from quorum.node.core.topic_id_fencing import TopicIdFence
from tests.support.node_cluster import Cluster

LOG = "/data/log"
SEGMENT = f"{LOG}/{0:020d}.log"


def _cold_log() -> tuple[SimulatedFiles, FileLog, int]:
    """Ten batches of which memory keeps the last; the size of each."""
    files = SimulatedFiles()
    log, _ = open_log(files, LOG, config=LogConfig(cache_bytes=1), recover=True)
    writer = LogWriter(files, LOG)
    size = 0
    for at in range(10):
        batch = build_batch(base_offset=Offset(at), epoch=Epoch(3), timestamp_ms=1, values=[b"value"])
        writer.execute([log.stage_append(batch, [parse_header(batch)])])
        size = len(batch)
    return files, log, size


@pytest.mark.parametrize("position", [3, 10, 14, 19, 40, 63])
def test_rotten_bytes_are_never_read(position: int) -> None:
    """Offset, length, epoch, checksum, header, value: of the third batch."""
    files, log, size = _cold_log()
    assert log.needs_cold_read(Offset(2))
    assert len(log.cold_read(Offset(2), 1).run()) == size
    files.rot(SEGMENT, 2 * size + position, 4)
    with pytest.raises(CorruptBatchError):
        log.cold_read(Offset(2), 1).run()


def _effects(log: FileLog) -> Effects:
    cluster = Cluster(1)
    cluster.start()
    ports: Ports = cluster.node(1).executor.ports
    return Effects(log, ports, TopicIdFence("cluster"), lambda effect: None)


def test_a_failed_read_says_nothing_once_the_log_was_cut() -> None:
    _, log, _ = _cold_log()
    effects, taken = _effects(log), list[bytes | None]()
    assert effects.read(Offset(2), 100, taken.append) is None
    assert not effects.on_read_failed(1)
    effects._truncations += 1
    assert effects.on_read_failed(1)
    assert taken == [None]
