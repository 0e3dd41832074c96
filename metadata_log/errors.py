"""The errors that reading or writing the metadata log raises.

Decides: which failures are a file's (`MetadataLogError`), which are the disk's (`StorageFailedError`: the node must
stop) and which are bugs (`InvariantViolation`).
"""

from __future__ import annotations


class MetadataLogError(Exception):
    """Bytes, files or directories are not valid."""

    def __reduce__(self) -> tuple[object, ...]:
        """Return what pickle needs, so that facts with an error travel between the processes of Spark.

        By default pickle calls the class with `args`, the sentence alone, which the classes with other parameters
        refuse.
        """
        return _unpickled, (type(self), self.args, vars(self))


def _unpickled(
    kind: type[MetadataLogError], args: tuple[object, ...], attributes: dict[str, object]
) -> MetadataLogError:
    error = kind.__new__(kind, *args)
    vars(error).update(attributes)
    return error


class WrongUseError(MetadataLogError):
    """The caller named a path, a target or an id that is missing or unsuitable. No data is corrupt."""


class CorruptBatchError(MetadataLogError):
    """A record batch is corrupt: its framing, checksum, counts, or its offset or epoch at this place of the log.

    Attributes:
        what: the fault, as part of a sentence.
        base_offset: the batch's, or the offset expected there; None if unknown.
        position: byte position of the batch in its buffer or file.
        file: the file's name if known.
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
        """Return the same fault with the file's name. `shift`: the buffer's position in the file."""
        known = self.base_offset if base_offset is None else base_offset
        return CorruptBatchError(self.what, position=self.position + shift, base_offset=known, file=file)


class UnsupportedBatchError(MetadataLogError):
    """A sound batch that this software cannot read, because it is compressed. It is never cut and never skipped."""

    @classmethod
    def compressed(cls, position: int, offset: int, compression: str) -> UnsupportedBatchError:
        """Return the error of a compressed batch at a position in its buffer or file."""
        return cls(
            f"the batch at position {position}, offset {offset}, is compressed ({compression}); metadata logs never "
            "are, and we do not read it"
        )


class CorruptFileError(MetadataLogError):
    """A small file (quorum-state, meta.properties, a checkpoint, …) is corrupt.

    Attributes:
        what: the fault, as part of a sentence.
        remedy: the advice, if the file alone decides it, for tools without advice of their own; otherwise None.
    """

    def __init__(self, path: str, what: str, remedy: str | None = None) -> None:
        self.path = path
        self.what = what
        self.remedy = remedy
        super().__init__(f"{path}: {what}" if remedy is None else f"{path}: {what}. {remedy}")


class NewerFileError(CorruptFileError):
    """A small file has an unknown, later version. It is not corrupt, and must never be replaced."""


class RecordError(MetadataLogError):
    """A record's value cannot be read."""


class UnknownRecordError(RecordError):
    """A record has an unknown type or version. Replay must stop here: skipping it would give a wrong image."""

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
    """The metadata is of Kafka before 3.3-IV3: a node must stop here."""


class NewerLevelError(MetadataLogError):
    """A feature's finalized level is unknown to this software: a node must stop here."""


class MalformedRecordError(RecordError):
    """The bytes of a record of a known type do not decode."""


class OffsetOutOfRange(MetadataLogError):
    """The requested offset is not in the log."""

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
    """A log directory has no meta.properties: `kraft storage format` writes it."""


class LostDirectoryIdError(DirectoryError):
    """A voter's meta.properties has no directory id, but the voter set has one for it: without it, it must not vote."""


class AlreadyFormattedError(DirectoryError):
    """A log directory to format has a meta.properties already."""


class ForeignDirectoryError(DirectoryError):
    """The directory belongs to another cluster, node or disk."""


class LostVoteError(DirectoryError):
    """A controller's directory has records or a checkpoint of them, but no quorum-state: its vote is lost."""

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
    """A controller's log ends before an offset that its own directories prove to be committed."""

    def __init__(self, directory: str, end: int, beside: str, *, reached: int, committed: int) -> None:
        super().__init__(
            f"{directory}: the log ends at offset {end}, and {beside} beside it says that it reached "
            f"{reached}; all before offset {committed} was committed, by what this node's own directories "
            "hold. Started without these records, it could help to elect a leader that lacks them. Run `kraft check` "
            "over the directories of all voters; where a majority of them has the records, give this node an empty "
            "directory and a new directory id; else `kraft recover inspect` of all copies says what can be kept"
        )


class MisplacedLogError(DirectoryError):
    """The metadata log is in another of the node's log directories than the configured one."""

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
    """Another process, of this project or of Kafka, holds the directory's lock."""


class StorageFailedError(MetadataLogError):
    """A write or a sync failed. The node must stop: the content on disk is unknown, and a second sync may lie."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"{what}. Nothing that was acknowledged is lost, and nothing is tried again: "
            "repair the disk or make room, then restart this node"
        )


class InvariantViolation(Exception):
    """A bug: an invariant does not hold. It stops the node."""
