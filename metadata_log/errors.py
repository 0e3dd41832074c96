"""Every error that reading or writing the metadata log raises, and what each means for the caller.

Decides: which failures are a file's fault (`MetadataLogError`), which are the disk's (`StorageFailedError`: the node
must stop) and which are our own (`InvariantViolation`). Must not know: what a caller does about them.
"""

from __future__ import annotations


class MetadataLogError(Exception):
    """Bytes, files or directories that are not what they have to be."""


class WrongUseError(MetadataLogError):
    """What was named is not there, or cannot be what it is named for: a path, a target, an id; no data is to blame."""


class CorruptBatchError(MetadataLogError):
    """A record batch that cannot be right: framing, checksum, counts, or its place in the log.

    Attributes:
        what: the fault, in words.
        base_offset: of the batch, or the offset expected there; None when unknown.
        position: byte position of the batch in its buffer or file.
        file: name of the file when known.
    """

    def __init__(self, what: str, *, position: int, base_offset: int | None = None, file: str | None = None) -> None:
        self.what = what
        self.position = position
        self.base_offset = base_offset
        self.file = file
        where = f"{file}, position {position}" if file else f"position {position}"
        offset = "" if base_offset is None else f", offset {base_offset}"
        super().__init__(f"corrupt record batch at {where}{offset}: {what}")

    def in_file(self, file: str, *, shift: int = 0, base_offset: int | None = None) -> CorruptBatchError:
        """The same fault, naming the file; `shift` is where in the file the buffer began."""
        known = self.base_offset if base_offset is None else base_offset
        return CorruptBatchError(self.what, position=self.position + shift, base_offset=known, file=file)


class UnsupportedBatchError(MetadataLogError):
    """A sound batch that we do not read: compressed, or of another format version. Never cut, never skipped."""

    @classmethod
    def compressed(cls, position: int, offset: int, compression: str) -> UnsupportedBatchError:
        """Return the error of a compressed batch at a position in its buffer or file."""
        return cls(
            f"the batch at position {position}, offset {offset}, is compressed ({compression}); metadata logs never "
            "are, and we do not read it"
        )


class CorruptFileError(MetadataLogError):
    """A small file (quorum-state, meta.properties, a checkpoint ...) does not hold what it must.

    Attributes:
        what: the fault, in words.
        remedy: what to do about it, where the file alone decides that; for tools that have no advice of their own.
    """

    def __init__(self, path: str, what: str, remedy: str | None = None) -> None:
        self.path = path
        self.what = what
        self.remedy = remedy
        super().__init__(f"{path}: {what}" if remedy is None else f"{path}: {what}. {remedy}")


class NewerFileError(CorruptFileError):
    """A small file of a version that we do not know: it is not damaged, and never replaced."""


class RecordError(MetadataLogError):
    """A record's value cannot be read."""


class UnknownRecordError(RecordError):
    """A record type or version that this software does not know: it must stop here, never skip it."""

    def __init__(self, api_key: int, version: int, offset: int | None = None, *, kind: str = "metadata record") -> None:
        self.api_key = api_key
        self.version = version
        self.offset = offset
        where = "" if offset is None else f" at offset {offset}"
        super().__init__(
            f"unknown {kind}{where}: type {api_key}, version {version}; it was written by newer software, "
            "and reading on without it would give a wrong image: use the release of the software that wrote it"
        )


class OlderReleaseError(MetadataLogError):
    """Metadata of Kafka before 3.3-IV3: a node must stop here."""


class NewerLevelError(MetadataLogError):
    """A finalised level of a feature that this software does not know: a node must stop here."""


class MalformedRecordError(RecordError):
    """A known record type whose bytes do not decode."""


class OffsetOutOfRange(MetadataLogError):
    """The log does not hold the offset that was asked for."""

    def __init__(self, offset: int, start_offset: int, log_end_offset: int) -> None:
        self.offset = offset
        self.start_offset = start_offset
        self.log_end_offset = log_end_offset
        super().__init__(
            f"offset {offset} is outside the log, which holds {start_offset} to {log_end_offset} (exclusive)"
        )


class DirectoryError(MetadataLogError):
    """A directory cannot be used."""


class NotFormattedError(DirectoryError):
    """There is no meta.properties: run `kraft storage format`."""


class LostDirectoryIdError(DirectoryError):
    """A voter's meta.properties has no directory id, and the log has one for it: it may not vote without."""


class AlreadyFormattedError(DirectoryError):
    """There is a meta.properties where a new one was to be written."""


class ForeignDirectoryError(DirectoryError):
    """The directory belongs to another cluster, node or disk."""


class LostVoteError(DirectoryError):
    """A controller's directory has records, or a checkpoint of them, and no quorum-state: its vote is lost."""

    def __init__(self, directory: str, name: str) -> None:
        super().__init__(
            f"{directory} holds {name} and no quorum-state, which is written before the first record or checkpoint: it "
            "is lost, and with it the epoch and the vote that this node must not forget. Started without it, it may "
            "vote twice in an epoch. Restore the file from a backup of this directory, or give the node an empty "
            "directory and a new directory id. Where a majority of the controllers is lost: `kraft recover inspect` of "
            "what is left of them says what can be brought back. Where `kraft snapshot restore` of an earlier release "
            "made this directory and it never ran, restore the backup again"
        )


class LostEndError(DirectoryError):
    """A controller's log ends before records that its own directories prove to be committed."""

    def __init__(self, directory: str, end: int, beside: str, *, reached: int, committed: int) -> None:
        super().__init__(
            f"{directory}: the log ends at offset {end}, and {beside} beside it says that it reached "
            f"{reached}; all before offset {committed} was committed, by what this node's own directories "
            "hold. Started without these records, it could help to elect a leader that lacks them. Run `kraft check` "
            "over the directories of all voters; where a majority of them has the records, give this node an empty "
            "directory and a new directory id; else `kraft recover inspect` of all copies says what can be kept"
        )


class MisplacedLogError(DirectoryError):
    """The metadata log is in another of the node's log directories than the one that is to hold it."""

    def __init__(self, metadata_dir: str, other: str, name: str, *, is_controller: bool) -> None:
        risk = "forget this node's votes, and could lead an empty quorum"
        if not is_controller:
            risk = "forget what this node knew to be committed, and could follow another quorum's log"
        super().__init__(
            f"{metadata_dir} is to hold the metadata log and has no record of it, while {other}, another of this "
            f"node's log directories, holds one with records ({other}/__cluster_metadata-0/{name}). Begun here, an "
            f"empty log would {risk}. If the disk of {metadata_dir} is not mounted: mount it. To keep the log: set "
            f"metadata.log.dir={other} (or put it first in log.dirs again, without metadata.log.dir). To begin with an "
            f"empty log on purpose: move {other}/__cluster_metadata-0 away, out of this node's log directories, and do "
            "this again"
        )


class DirectoryLockedError(DirectoryError):
    """Another process, ours or a Kafka, holds the directory's lock file."""


class StorageFailedError(MetadataLogError):
    """A write or a sync failed. The node must stop: what is on disk is unknown, and a second sync may lie."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. Nothing that was acknowledged is lost, and nothing is tried again: "
            "mend the disk or make room, then start this node anew"
        )


class InvariantViolation(Exception):
    """A bug of our own: what must always hold does not. It stops the node."""
