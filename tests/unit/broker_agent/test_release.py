"""A release of an agent, at every crash point: it never ends with a log that neither id was named for."""

from __future__ import annotations

import pytest

from broker_agent.release import ReleaseRefusedError, finish_release, release
from metadata_log.directory import METADATA_DIRECTORY, CommittedState, DirectoryLock, read_committed_state
from metadata_log.directory.committed_state import (
    COMMITTED_STATE_FILE,
    format_committed_state,
    parse_committed_state,
    write_committed_state,
)
from metadata_log.errors import CorruptFileError, DirectoryLockedError, NewerFileError
from metadata_log.files.port import replace_file
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.ids import METADATA_TOPIC_ID, TopicId, id_text
from metadata_log.offsets import Offset
from tests.support.image_records import topic_id

DIR = "/data"
PRESENT = f"{DIR}/{METADATA_DIRECTORY}"
OLD, NEW, OTHER = topic_id(1), topic_id(2), topic_id(3)
HELD = CommittedState(high_watermark=Offset(30), topic_id=OLD)


def _files() -> SimulatedFiles:
    files = SimulatedFiles()
    files.mkdirs(PRESENT)
    replace_file(files, f"{PRESENT}/00000000000000000000.log", b"records")
    write_committed_state(files, PRESENT, HELD)
    return files


def _release(files: SimulatedFiles, own_id: TopicId = OLD, accepted_id: TopicId = NEW) -> str:
    released = release(files, [DIR], DIR, own_id=own_id, accepted_id=accepted_id, new_token=lambda: b"\xab" * 16)
    return released.aside


def test_the_log_is_moved_aside_and_only_the_named_one_is_accepted() -> None:
    files = _files()
    aside = _release(files)
    assert aside == f"{PRESENT}.{'ab' * 16}-stray"
    assert read_committed_state(files, aside) == HELD
    assert files.listdir(PRESENT) == [COMMITTED_STATE_FILE]
    assert read_committed_state(files, PRESENT) == CommittedState(high_watermark=Offset(0), topic_id=NEW)
    assert not finish_release(files, DIR)


def test_a_crash_at_any_moment_leaves_the_old_log_or_the_pin_to_the_new_one() -> None:
    whole = _files()
    before = whole.changes
    _release(whole)
    for change in range(before + 1, whole.changes + 1):
        files = _files()
        files.crash_at = change
        with pytest.raises(SimulatedCrash):
            _release(files)
        files.crash(0)
        finish_release(files, DIR)
        state = read_committed_state(files, PRESENT)
        assert state is not None, f"change {change}"
        assert state.topic_id in (OLD, NEW)
        assert (state == HELD) == files.exists(f"{PRESENT}/00000000000000000000.log")
        if state == HELD:
            _release(files)


@pytest.mark.parametrize(
    ("own_id", "accepted_id", "words"),
    [
        (OTHER, NEW, f"is {id_text(OLD)}, not {id_text(OTHER)}"),
        (OLD, METADATA_TOPIC_ID, "is no metadata topic's own id"),
    ],
    ids=["another log", "the sentinel"],
)
def test_what_does_not_name_both_ids_changes_nothing(own_id: TopicId, accepted_id: TopicId, words: str) -> None:
    files = _files()
    before = files.changes
    with pytest.raises(ReleaseRefusedError, match=words):
        _release(files, own_id, accepted_id)
    assert read_committed_state(files, PRESENT) == HELD
    assert files.changes <= before + 1, "the lock file alone"


def test_a_running_agent_and_one_that_does_not_say_what_it_holds_are_refused() -> None:
    files = _files()
    lock = DirectoryLock(files, DIR)
    with pytest.raises(DirectoryLockedError):
        _release(files)
    lock.release()
    files.unlink(f"{PRESENT}/{COMMITTED_STATE_FILE}")
    with pytest.raises(ReleaseRefusedError, match="has no committed-state"):
        _release(files)


def test_the_file_is_read_as_it_is_written_and_nothing_else_is() -> None:
    assert parse_committed_state(format_committed_state(HELD), "f") == HELD
    empty = CommittedState(high_watermark=Offset(0))
    assert parse_committed_state(format_committed_state(empty), "f") == empty
    with pytest.raises(NewerFileError):
        parse_committed_state(b'{"highWatermark":1,"metadataTopicId":null,"data_version":1}', "f")
    for data in (b"", b"[]", b"{}", b'{"highWatermark":-1,"metadataTopicId":null,"data_version":0}', b"\xff"):
        with pytest.raises(CorruptFileError):
            parse_committed_state(data, "f")
