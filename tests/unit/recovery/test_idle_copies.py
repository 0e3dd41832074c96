"""A copy reads the same whether the NoOps of its idle leader are taken at once or one by one."""

from __future__ import annotations

from functools import partial

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.image.checkpoint import records_of
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import encode_record
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name
from metadata_log.storage.segment import segment_file
from metadata_log.tools.prefix.valid_prefix import ValidPrefix
from metadata_log.tools.read import fast_scan, log_reader
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from tests.support.repairs import batch_ends, load_nodes
from tests.unit.recovery.evidence.test_hidden_repair import METADATA, go_on, of, write

END = 240
IDLE_FROM = 97
NO_OP_BYTES = 72


def idle(checkpoint: int | None, damaged: tuple[int, ...]) -> SimulatedFiles:
    """Return a copy that ends in many NoOps, a checkpoint within them, a flipped bit at the `damaged` offsets."""
    files = load_nodes("basic", 1)
    go_on(files, "/n1", END)
    own = of(files, "/n1")
    log = files.open(f"/n1/{METADATA}/{segment_file(0)}")
    for offset in damaged:
        position = log.size() - (END - offset) * NO_OP_BYTES + 65
        log.pwrite(bytes((log.pread(1, position)[0] ^ 1,)), position)
    if checkpoint is not None:
        assert own.image is not None
        content = build_checkpoint(
            [encode_record(record, version) for record, version in records_of(own.image)],
            epoch=own.end.epoch,
            times=CheckpointTimes.at(own.prefix.last_timestamp_ms, last_contained_ms=own.prefix.last_timestamp_ms),
            kraft_version=own.kraft_version,
            voters=None,
        )
        end = OffsetAndEpoch(offset=Offset(checkpoint), epoch=Epoch(own.end.epoch))
        write(files, f"/n1/{METADATA}/{checkpoint_name(end)}", b"".join(content))
        files.fsync_dir(f"/n1/{METADATA}")
    return files


def facts(files: SimulatedFiles, until: int | None) -> tuple[object, ...]:
    """Return all that a copy says; for a refusal its sentence."""
    try:
        copy = read_copy(files, find_place(files, "/n1"), until=until)
    except RefusedError as error:
        return (str(error),)
    plain = {name: getattr(copy, name) for name in Copy.__struct_fields__ if name not in ("prefix", "replica")}
    plain |= {
        name: getattr(copy.prefix, name) for name in ValidPrefix.__struct_fields__ if name not in ("sums", "state")
    }
    state = None if copy.state is None else (copy.state.end, copy.image)
    return (plain, state, list(copy.prefix.sums.digests()), batch_ends(files, copy))


@pytest.mark.parametrize("checkpoint", [None, 150])
@pytest.mark.parametrize("damaged", [(), (120,), (149,), (150,), (180,), (120, 180)])
@pytest.mark.parametrize("until", [None, 130, 150, 151, 200])
def test_runs_say_what_single_batches_say(
    monkeypatch: pytest.MonkeyPatch, checkpoint: int | None, damaged: tuple[int, ...], until: int | None
) -> None:
    files = idle(checkpoint, damaged)
    at_once = facts(files, until)

    monkeypatch.setattr(log_reader, "walk", partial(fast_scan.walk, find_run=lambda *_: None))

    assert at_once == facts(files, until)


def test_a_run_is_taken_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    files = idle(None, ())
    runs = []

    def run(*arguments: object) -> fast_scan.NoOpRun | None:
        one = fast_scan.no_op_run(*arguments)  # type: ignore[arg-type]
        runs.append(0 if one is None else one.count)
        return one

    monkeypatch.setattr(log_reader, "walk", partial(fast_scan.walk, find_run=run))
    of(files, "/n1")

    assert max(runs) > END - IDLE_FROM - 10
    assert of(files, "/n1").end.offset == END
