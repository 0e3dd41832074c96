"""The agent's journal: which replicas the image once assigned to this broker, and how long the agent has run.

It is the proof that a directory is stale and not foreign. A directory is staged and removed only if the journal names
its topic id and partition. Entries are bound to the metadata topic's own id: under another id they prove nothing, since
they are of another log. Entries are void once the agent's metadata log is gone, or a received snapshot has replaced
it: the snapshot may show the quorum at an earlier time. A lost entry or file costs a removal, never a directory.

The file `agent-journal` is in `metadata.log.dir`, outside the partitions' directories: a directory that is copied in
brings no proof along. It is text. Each line is a CRC-32C in hexadecimal, a blank, and one of

- `agent-journal VERSION NODE_ID OWN_ID`: the first line. OWN_ID is `-` before the first image.
- `held TOPIC_ID PARTITION IMAGE_END`: the image that ends there assigned this replica, or a RemoveTopicRecord before
  that end named its topic. The journal is synced at once, and the committed end is kept once a second. After a crash,
  entries past the kept end prove nothing: the log may be cut there.
- `clock ELAPSED_MS WALL_MS`: monotonic time over all runs, and the wall clock then.
- `snapshot END_OFFSET`: the received snapshot that the agent's log began with when the entries were made.

Lines are appended and synced. A line that fails its checksum is skipped: after a crash the last one may be torn.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Final, Self

from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.format.crc import crc32c
from metadata_log.ids import InvalidIdError, NodeId, TopicId, id_text, parse_topic_id
from metadata_log.java_text import java_int
from metadata_log.offsets import Offset

JOURNAL_FILE: Final = "agent-journal"
_VERSION: Final = 0
_SLACK_LINES: Final = 1_000
"""The file is rewritten when it has this many lines, and twice as many lines as entries."""

Replica = tuple[TopicId, int]


class Journal:
    """One agent's journal, in memory and on disk. Its calls block on the disk."""

    def __init__(self, files: Files, directory: str, node_id: NodeId) -> None:
        """Prepare an empty journal; `open` reads the file."""
        self.directory: Final = directory
        self._files = files
        self._path = f"{directory}/{JOURNAL_FILE}"
        self._node_id = node_id
        self._held: dict[Replica, Offset] = {}
        """Each replica's entry: the end offset of the image that proved it."""
        self._lines = self._size = 0
        self.metadata_topic_id: TopicId | None = None
        """The metadata topic's own id that the entries are bound to; None before the first image."""
        self.elapsed_ms = 0
        """Monotonic ms over all runs, as last saved; 0 if it was lost."""
        self.wall_ms: int | None = None
        """The wall clock when `elapsed_ms` was saved."""
        self.fault: str | None = None
        """Why entries of an earlier run were lost, if any were."""
        self.void = 0
        """The number of entries of an earlier run that prove nothing, because the metadata log is gone."""
        self.unproven = 0
        """The number of entries of an earlier run whose records are not known to be committed."""
        self.received_end: Offset | None = None
        """End offset of the received snapshot that the log began with when the entries were made."""

    @classmethod
    def open(
        cls,
        files: Files,
        directory: str,
        node_id: NodeId,
        *,
        log_end: Offset,
        committed_end: Offset,
        received_end: Offset | None = None,
    ) -> Self:
        """Read the journal in `directory`, or begin one.

        Args:
            log_end: end offset of the agent's metadata log. 0: the log that the entries are from is gone. They are
                voided durably, before anything is fetched.
            committed_end: everything before it is known to be committed.
            received_end: end offset of the last received snapshot that replaced the log, or None.

        Raises:
            NewerFileError: a later release wrote it. OSError: the disk failed.
        """
        journal = cls(files, directory, node_id)
        if files.exists(journal._path):
            journal._read()
        if log_end == 0 or received_end != journal.received_end:
            journal.void = journal._forget()
            journal.received_end = received_end
        kept = {each: end for each, end in journal._held.items() if end <= committed_end}
        journal.unproven, journal._held = len(journal._held) - len(kept), kept
        journal._rewrite()
        return journal

    def bind(self, metadata_topic_id: TopicId) -> int:
        """Bind the journal to the metadata topic's own id; return how many entries of another id this voids."""
        if metadata_topic_id == self.metadata_topic_id:
            return 0
        void, self.metadata_topic_id = self._forget(), metadata_topic_id
        self._rewrite()
        return void

    def on_received(self, end: Offset | None) -> int:
        """Store the end of the received snapshot that the log begins with; return how many entries a change voids."""
        if end == self.received_end:
            return 0
        void, self.received_end = self._forget(), end
        self._rewrite()
        return void

    def _forget(self) -> int:
        void = len(self._held)
        self._held.clear()
        return void

    def proves(self, topic_id: TopicId, partition: int) -> bool:
        """Return True if this replica was this broker's, under the own id that the journal is bound to."""
        return (topic_id, partition) in self._held

    def add(self, replicas: Iterable[Replica], image_end: Offset) -> None:
        """Append replicas durably, proved by an image that ends at `image_end`. The caller has bound the journal."""
        new = sorted(set(replicas) - self._held.keys())
        if not new:
            return
        self._held.update(dict.fromkeys(new, image_end))
        self._append([_held_line(replica, image_end) for replica in new])

    def keep_only(self, is_needed: Callable[[Replica], bool]) -> None:
        """Drop unneeded entries by rewriting the file, if it has at least twice as many lines as needed entries."""
        kept = {each: end for each, end in self._held.items() if is_needed(each)}
        if self._lines < _SLACK_LINES or self._lines < 2 * len(kept):
            return
        self._held = kept
        self._rewrite()

    def save_clock(self, elapsed_ms: int, wall_ms: int) -> None:
        """Save how long the agent has run, over all runs."""
        self.elapsed_ms, self.wall_ms = elapsed_ms, wall_ms
        self._append([_clock(elapsed_ms, wall_ms)])
        if self._lines >= _SLACK_LINES + 2 * len(self._held):
            self._rewrite()

    def _read(self) -> None:
        try:
            lines = read_small_file(self._files, self._path).split(b"\n")
        except CorruptFileError as error:
            self.fault = error.what
            return
        texts = [_checked(line) for line in lines[:-1]]
        if not self._takes(texts[0] if texts else None):
            return
        lost = 0
        for text in texts[1:]:
            lost += text is None or not self._take(text.split(" "))
        if lost:
            self.fault = f"{lost} lines fail their checksum"

    def _takes(self, first: str | None) -> bool:
        """Read the first line; return False if the entries after it prove nothing.

        Raises:
            NewerFileError: a later release wrote the file.
        """
        words = [] if first is None else first.split(" ")
        if len(words) != 4 or words[0] != JOURNAL_FILE:
            self.fault = "its first line is damaged"
            return False
        if words[1] != str(_VERSION):
            raise NewerFileError(self._path, f"it is of version {words[1]}, and this release knows {_VERSION}")
        if words[2] != str(self._node_id):
            self.fault = f"it is broker {words[2]}'s"
            return False
        self.metadata_topic_id = _id_in(words[3])
        return self.metadata_topic_id is not None

    def _take(self, words: list[str]) -> bool:
        numbers = [java_int(word, 64) for word in words[1:]]
        if words[0] == "held" and len(words) == 4:
            topic_id, partition, image_end = _id_in(words[1]), numbers[1], numbers[2]
            if topic_id is None or partition is None or image_end is None:
                return False
            self._held[topic_id, partition] = Offset(image_end)
            return True
        if words[0] == "snapshot" and len(words) == 2 and numbers[0] is not None:
            self.received_end = Offset(numbers[0])
            return True
        if words[0] == "clock" and len(words) == 3 and numbers[0] is not None and numbers[1] is not None:
            self.elapsed_ms, self.wall_ms = numbers[0], numbers[1]
            return True
        return False

    def _append(self, texts: Collection[str]) -> None:
        data = b"".join(_line(text) for text in texts)
        handle = self._files.open(self._path)
        try:
            handle.pwrite(data, self._size)
            handle.fdatasync()
        finally:
            handle.close()
        self._size += len(data)
        self._lines += len(texts)

    def _rewrite(self) -> None:
        own = "-" if self.metadata_topic_id is None else id_text(self.metadata_topic_id)
        texts = [f"{JOURNAL_FILE} {_VERSION} {self._node_id} {own}"]
        texts += [_held_line(replica, image_end) for replica, image_end in sorted(self._held.items())]
        if self.received_end is not None:
            texts.append(f"snapshot {self.received_end}")
        if self.wall_ms is not None:
            texts.append(_clock(self.elapsed_ms, self.wall_ms))
        data = b"".join(_line(text) for text in texts)
        replace_file(self._files, self._path, data)
        self._lines, self._size = len(texts), len(data)


def _held_line(replica: Replica, image_end: Offset) -> str:
    topic_id, partition = replica
    return f"held {id_text(topic_id)} {partition} {image_end}"


def _clock(elapsed_ms: int, wall_ms: int) -> str:
    return f"clock {elapsed_ms} {wall_ms}"


def _line(text: str) -> bytes:
    data = text.encode("ascii")
    return b"%08x %s\n" % (crc32c(data), data)


def _checked(line: bytes) -> str | None:
    """Return the text of a line, or None if its checksum fails."""
    found, _, data = line.partition(b" ")
    if found != b"%08x" % crc32c(data):
        return None
    return data.decode("ascii", "replace")


def _id_in(text: str) -> TopicId | None:
    try:
        return parse_topic_id(text)
    except InvalidIdError:
        return None
