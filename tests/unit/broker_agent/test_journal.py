"""Proof of what was this broker's: a journal that survives crashes, and that another metadata log voids."""

from __future__ import annotations

import pytest

from broker_agent.changes import NO_TOPIC_CHANGES, TopicChanges, joined
from broker_agent.journal import JOURNAL_FILE, Journal
from broker_agent.partitions import Partitions
from broker_agent.storage import RemovalTimes, create, scan, stage, staged_names
from metadata_log.errors import NewerFileError
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.format.crc import crc32c
from metadata_log.ids import METADATA_TOPIC_NAME, NodeId, TopicId, id_text
from metadata_log.image import ImageChanges, MetadataImage
from metadata_log.offsets import Offset
from metadata_log.records import RemoveTopicRecord
from quorum.node.core.ports import ImagePublished
from tests.support.image_records import directory, image_of, nodes, partition, topic, topic_id

BROKER = NodeId(1)
OWN, OTHER = topic(900, METADATA_TOPIC_NAME), topic(901, METADATA_TOPIC_NAME)
PATH = f"/data/{JOURNAL_FILE}"


def _files() -> SimulatedFiles:
    files = SimulatedFiles()
    files.mkdirs("/data")
    files.fsync_dir("/")
    return files


def _opened(files: SimulatedFiles, node_id: int = 1, log_end: int = 9) -> Journal:
    return Journal.open(files, "/data", NodeId(node_id), log_end=Offset(log_end), committed_end=Offset(log_end))


def _partitions(files: SimulatedFiles, now: list[int] | None = None) -> Partitions:
    clock = now or [0]
    made = Partitions(
        files,
        BROKER,
        {directory(1): "/data"},
        _opened(files),
        delete_delay_ms=1_000,
        wall_ms=lambda: clock[0],
        monotonic_ms=lambda: clock[0],
        new_token=lambda: bytes(16),
    )
    made.open()
    return made


def _names(files: SimulatedFiles) -> list[str]:
    return [name for name in files.listdir("/data") if name != JOURNAL_FILE]


def _overwrite(files: SimulatedFiles, data: bytes) -> None:
    handle = files.open(PATH, create=True)
    handle.truncate(0)
    handle.pwrite(data, 0)
    handle.close()


def test_entries_outlive_every_crash_once_they_are_noted() -> None:
    replicas = [(topic_id(1), 0), (topic_id(2), 7)]

    def act(files: SimulatedFiles) -> Journal:
        journal = _opened(files)
        journal.bind(topic_id(900))
        journal.add(replicas[:1], Offset(1))
        journal.add(replicas, Offset(1))
        journal.save_clock(5_000, 1_700_000_000_000)
        return journal

    whole = _files()
    before = whole.changes
    act(whole)
    found = set()
    for change in range(before + 1, whole.changes + 1):
        for draw in (0, 0xFFFF_FFFF_FFFF_FFFF, 0x5A5A_1234_9876_0F0F):
            files = _files()
            files.crash_at = change
            with pytest.raises(SimulatedCrash):
                act(files)
            files.crash(draw)
            again = _opened(files)
            found.add(tuple(again.proves(*each) for each in replicas))
            assert again.elapsed_ms in (0, 5_000)
            assert _opened(files).fault is None, "what a crash tore is cut once"
    assert found == {(False, False), (True, False), (True, True)}
    again = _opened(whole)
    assert (again.metadata_topic_id, again.elapsed_ms, again.wall_ms) == (topic_id(900), 5_000, 1_700_000_000_000)
    assert again.proves(topic_id(2), 7)
    assert not again.proves(topic_id(2), 8)


def test_entries_prove_nothing_once_the_metadata_log_is_gone() -> None:
    """The log that is fetched then may be the quorum's as of an earlier time, under the same id."""
    files, now = _files(), [0]
    held, gone = image_of(OWN, topic(1, "a"), partition(1)), image_of(OWN)
    first = _partitions(files, now)
    first.reconcile(held, NO_TOPIC_CHANGES)
    now[0] = 5_000
    journal = _opened(files, log_end=0)
    assert (journal.void, journal.proves(topic_id(1), 0)) == (1, False)
    assert journal.metadata_topic_id is not None, "what it is bound to stays"
    assert not _opened(files).proves(topic_id(1), 0), "it is durable before anything is fetched"
    again = _partitions(files, now)
    again.reconcile(gone, NO_TOPIC_CHANGES)
    assert not again.staged
    assert [name.startswith("a-0.") and name.endswith("-stray") for name in _names(files)] == [True]


def test_entries_prove_nothing_once_a_received_snapshot_has_taken_the_logs_place() -> None:
    files, now = _files(), [0]
    held, gone = image_of(OWN, topic(1, "a"), partition(1)), image_of(OWN)
    agent = _partitions(files, now)
    agent.reconcile(held, NO_TOPIC_CHANGES)
    agent.reconcile(gone, _move(held, gone, 1, is_from_snapshot=True), Offset(50))
    assert not agent.staged
    assert [name.startswith("a-0.") and name.endswith("-stray") for name in _names(files)] == [True]
    agent.reconcile(held, TopicChanges(changed=frozenset({topic_id(1)})), Offset(50))
    for end, void in ((Offset(50), 0), (Offset(51), 1), (Offset(51), 0), (None, 0)):
        journal = Journal.open(
            files, "/data", NodeId(1), log_end=Offset(60), committed_end=Offset(60), received_end=end
        )
        assert (journal.void, journal.received_end) == (void, end), end
        assert journal.proves(topic_id(1), 0) is (end == 50)


def test_entries_past_what_is_known_to_be_committed_prove_nothing_after_a_crash() -> None:
    """The agent stores the committed offset once a second. Entries above the stored offset may be truncated."""
    files = _files()
    journal = _opened(files)
    journal.bind(TopicId(b"\x07" * 16))
    for number, end in ((1, 20), (2, 20), (3, 24), (4, 24)):
        journal.add([(topic_id(number), 0)], Offset(end))
    for rewritten in (False, True):
        again = Journal.open(files, "/data", NodeId(1), log_end=Offset(24), committed_end=Offset(24))
        assert (again.unproven, again.proves(topic_id(4), 0)) == (0, True), rewritten
    again = Journal.open(files, "/data", NodeId(1), log_end=Offset(24), committed_end=Offset(23))
    assert [again.proves(topic_id(number), 0) for number in (1, 2, 3, 4)] == [True, True, False, False]
    assert (again.unproven, again.void) == (2, 0)
    again.add([(topic_id(3), 0)], Offset(30))
    assert Journal.open(files, "/data", NodeId(1), log_end=Offset(30), committed_end=Offset(29)).unproven == 1


def test_a_damaged_line_costs_its_own_entry_alone() -> None:
    files = _files()
    journal = _opened(files)
    journal.bind(topic_id(900))
    journal.add([(topic_id(1), 0), (topic_id(2), 0), (topic_id(3), 0)], Offset(1))
    _overwrite(files, files.content(PATH).replace(id_text(topic_id(2)).encode(), id_text(topic_id(9)).encode()))
    again = _opened(files)
    assert [again.proves(topic_id(number), 0) for number in (1, 2, 3, 9)] == [True, False, True, False]
    assert again.fault == "1 lines fail their checksum"


@pytest.mark.parametrize("data", [b"", b"\n", b"rubbish\n", b"\xff\x00" * 500, b"00000000 agent-journal 0 1 -\n"])
def test_a_journal_without_a_sound_first_line_proves_nothing(data: bytes) -> None:
    files = _files()
    _overwrite(files, data)
    again = _opened(files)
    assert again.fault == "its first line is damaged"
    assert again.metadata_topic_id is None


def test_a_journal_of_another_broker_proves_nothing_and_one_of_a_later_release_is_kept() -> None:
    files = _files()
    other = _opened(files, node_id=2)
    other.bind(topic_id(900))
    other.add([(topic_id(1), 0)], Offset(1))
    again = _opened(files)
    assert again.fault == "it is broker 2's"
    again.bind(topic_id(900))
    assert not again.proves(topic_id(1), 0)
    text = b"agent-journal 1 1 -"
    _overwrite(files, b"%08x %s\n" % (crc32c(text), text))
    later = files.content(PATH)
    with pytest.raises(NewerFileError, match="it is of version 1"):
        _opened(files)
    assert files.content(PATH) == later


def test_the_file_does_not_grow_with_time() -> None:
    files = _files()
    journal = _opened(files)
    journal.bind(topic_id(900))
    journal.add([(topic_id(1), index) for index in range(10)], Offset(1))
    for minute in range(5_000):
        journal.save_clock(60_000 * minute, minute)
    assert files.content(PATH).count(b"\n") < 1_100
    journal.add([(topic_id(2), index) for index in range(3_000)], Offset(1))
    journal.keep_only(lambda replica: replica[0] == topic_id(1))
    again = _opened(files)
    assert again.proves(topic_id(1), 9)
    assert not again.proves(topic_id(2), 0)
    assert again.elapsed_ms == 60_000 * 4_999


def test_a_directory_that_is_copied_in_survives_whatever_made_it() -> None:
    files = _files()
    create(files, "/data", "theirs", 0, topic_id(50))
    create(files, "/data", "ours", 1, topic_id(1))
    times = RemovalTimes(remove_at_ms=0, staged_at_ms=0, delay_ms=0, due_ms=0)
    stage(files, create(files, "/data", "staged-by-theirs", 0, topic_id(51)), times)
    now = [10_000_000]
    partitions = _partitions(files, now)
    image = image_of(
        OWN, topic(1, "ours"), partition(1, 1, replicas=nodes(2, 3), directories=(directory(2), directory(3)))
    )
    partitions.reconcile(image, NO_TOPIC_CHANGES)
    now[0] += 10**12
    assert partitions.remove_due() is None
    assert _names(files) == ["deleting", f"ours-1.{'0' * 32}-stray", f"theirs-0.{'0' * 32}-stray"]
    assert staged_names(files, "/data") == [f"{id_text(topic_id(51))}_0"]


def test_nothing_is_removed_before_an_image_was_reconciled() -> None:
    files, now = _files(), [0]
    image = image_of(OWN, topic(1, "a"), partition(1))
    partitions = _partitions(files, now)
    partitions.reconcile(image, NO_TOPIC_CHANGES)
    gone = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=image)
    partitions.reconcile(gone, TopicChanges(changed=frozenset({topic_id(1)})))
    now[0] = 10**9
    again = _partitions(files, now)
    assert again.remove_due() is None
    assert _names(files) == ["deleting"]
    again.reconcile(gone, NO_TOPIC_CHANGES)
    now[0] += 1_000
    again.remove_due()
    assert _names(files) == []


@pytest.mark.parametrize("later", [OTHER, None])
def test_under_another_metadata_topic_old_entries_prove_nothing(later: object) -> None:
    files, now = _files(), [0]
    first = _partitions(files, now)
    image = image_of(OWN, topic(1, "a"), partition(1), topic(2, "b"), partition(2))
    first.reconcile(image, NO_TOPIC_CHANGES)
    first.reconcile(
        image_of(RemoveTopicRecord(topic_id=topic_id(2)), base=image), TopicChanges(changed=frozenset({topic_id(2)}))
    )
    assert [each.replica for each in first.staged] == [(topic_id(2), 0)]
    again = _partitions(files, now)
    todo = again.reconcile(image_of(*([] if later is None else [OTHER])), NO_TOPIC_CHANGES)
    assert not todo.stage
    assert [aside.directory.name for aside in todo.set_aside] == ["a-0"]
    now[0] = 10**9
    assert again.remove_due() is None
    assert _names(files) == [f"a-0.{'0' * 32}-stray", "deleting"]


def test_directories_of_the_previous_release_are_adopted_where_the_image_assigns_them() -> None:
    files = _files()
    create(files, "/data", "a", 0, topic_id(1))
    partitions = _partitions(files)
    image = image_of(OWN, topic(1, "a"), partition(1))
    assert not partitions.reconcile(image, NO_TOPIC_CHANGES)
    gone = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=image)
    again = _partitions(files)
    assert [each.directory.name for each in again.reconcile(gone, NO_TOPIC_CHANGES).stage] == ["a-0"]


def _published(
    before: MetadataImage, after: MetadataImage, *numbers: int, is_from_snapshot: bool = False
) -> ImagePublished:
    changes = ImageChanges(topics=frozenset(topic_id(number) for number in numbers))
    return ImagePublished(before=before, after=after, changes=(changes,), is_from_snapshot=is_from_snapshot)


def _move(before: MetadataImage, after: MetadataImage, *numbers: int, is_from_snapshot: bool = False) -> TopicChanges:
    return joined(NO_TOPIC_CHANGES, _published(before, after, *numbers, is_from_snapshot=is_from_snapshot))


def test_a_removal_is_proof_only_while_the_own_id_stays() -> None:
    before = image_of(OWN, topic(1), topic(2))
    after = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=before)
    assert _move(before, after, 1, 2).removed == {topic_id(1)}
    for foreign in (image_of(OTHER, topic(2)), image_of(topic(2))):
        assert _move(before, foreign, 1, 2) == TopicChanges(changed=frozenset({topic_id(1), topic_id(2)}))
    assert _move(image_of(topic(1)), image_of(), 1).removed == frozenset()
    kept = joined(_move(before, after, 1), _published(after, image_of(OTHER)))
    assert kept.removed == frozenset()


def test_a_topic_that_a_received_snapshot_lacks_was_not_removed() -> None:
    before = image_of(OWN, topic(1), topic(2))
    after = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=before)
    both = frozenset({topic_id(1), topic_id(2)})
    assert _move(before, after, 1, 2, is_from_snapshot=True) == TopicChanges(changed=both)
    gathered = joined(_move(before, after, 1), _published(after, image_of(OWN), 2, is_from_snapshot=True))
    assert gathered == TopicChanges(changed=both), "the journal of before is void, and so is what it would get"


def test_a_removal_that_was_replayed_is_proof_of_any_directory_of_that_topic() -> None:
    files, now = _files(), [0]
    create(files, "/data", "moved-by-hand", 3, topic_id(5))
    partitions = _partitions(files, now)
    removed = TopicChanges(changed=frozenset({topic_id(5)}), removed=frozenset({topic_id(5)}))
    assert [each.directory.name for each in partitions.reconcile(image_of(OWN), removed).stage] == ["moved-by-hand-3"]
    now[0] = 10**9
    again = _partitions(files, now)
    again.reconcile(image_of(OWN), NO_TOPIC_CHANGES)
    now[0] += 1_000
    again.remove_due()
    assert _names(files) == []
    assert scan(files, "/data") == ([], [])
