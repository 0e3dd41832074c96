"""What is done to checkpoints beside the log: pieces written, received, looked at and read, each a plan to be run
wherever it may block.

Decides: which failures are the checkpoint's (a result) and which are the disk's (raised). Must not know: why, or in
which thread. Run in the order of their making.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from metadata_log.errors import CorruptBatchError, CorruptFileError, StorageFailedError
from metadata_log.files.port import Files
from metadata_log.offsets import OffsetAndEpoch
from metadata_log.storage.checkpoint import CheckpointWriter, check_checkpoint, is_received_name, received_name
from metadata_log.storage.loaded_checkpoint import LoadedSnapshot, load_snapshot
from metadata_log.voters import InvalidVoterError


class WritePiece(msgspec.Struct, frozen=True, kw_only=True):
    """Append a batch to a checkpoint of our own; an empty one ends it: then the result is its size, durable."""

    writer: CheckpointWriter
    batch: bytes

    def run(self) -> int | None:
        """Raises StorageFailedError when a call fails."""
        try:
            if not self.batch:
                return self.writer.finish()
            self.writer.append(self.batch)
        except OSError as error:
            raise StorageFailedError(f"writing {self.writer.paths[0]} failed: {error.strerror or error}") from error
        return None


class StorePiece(msgspec.Struct, frozen=True, kw_only=True):
    """Write a received piece beside. One at position 0 begins the file anew, and removes those of other snapshots."""

    files: Files
    directory: str
    end: OffsetAndEpoch
    position: int
    data: bytes

    def run(self) -> None:
        """Raises StorageFailedError when a call fails."""
        name = received_name(self.end)
        try:
            if self.position == 0:
                for other in self.files.listdir(self.directory):
                    if is_received_name(other) and other != name:
                        self.files.unlink(f"{self.directory}/{other}")
            handle = self.files.open(f"{self.directory}/{name}", create=True)
            try:
                handle.truncate(self.position)
                handle.pwrite(self.data, self.position)
            finally:
                handle.close()
        except OSError as error:
            raise StorageFailedError(f"storing {self.directory}/{name} failed: {error.strerror or error}") from error


class CheckReceived(msgspec.Struct, frozen=True, kw_only=True):
    """Read and check all of a received snapshot; the result is what it holds, or what is wrong with it."""

    files: Files
    directory: str
    end: OffsetAndEpoch
    size: int

    def run(self) -> LoadedSnapshot | str:
        """Raises OSError when it cannot be read, UnknownRecordError when newer software wrote it."""
        try:
            loaded = load_snapshot(self.files, f"{self.directory}/{received_name(self.end)}", self.end)
        except (CorruptBatchError, CorruptFileError, InvalidVoterError) as error:
            return str(error)
        return loaded if loaded.held.size == self.size else f"it has {loaded.held.size} bytes, not {self.size}"


class ReadPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes of a checkpoint's file; None where it is gone. Before the first of them all of it is checked: whoever
    begins with a rotten one would begin with it for ever; then the result is what is wrong with it."""

    files: Files
    path: str
    end: OffsetAndEpoch
    position: int
    max_bytes: int

    def run(self) -> bytes | str | None:
        """Raises OSError when it cannot be read."""
        try:
            if self.position == 0:
                check_checkpoint(self.files, self.path, self.end)
            handle = self.files.open(self.path, read_only=True)
        except FileNotFoundError:
            return None
        except (CorruptBatchError, CorruptFileError) as error:
            return str(error)
        try:
            return handle.pread(self.max_bytes, self.position)
        finally:
            handle.close()


class RemoveCheckpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Let go of a checkpoint that is not wanted any more, finished or not."""

    files: Files
    writer: CheckpointWriter

    def run(self) -> None:
        """Raises StorageFailedError when a call fails."""
        self.writer.close()
        try:
            for path in self.writer.paths:
                if self.files.exists(path):
                    self.files.unlink(path)
        except OSError as error:
            raise StorageFailedError(f"removing {self.writer.paths[0]} failed: {error.strerror or error}") from error


CheckpointOp: TypeAlias = WritePiece | StorePiece | CheckReceived | ReadPiece | RemoveCheckpoint
CheckpointResult: TypeAlias = int | LoadedSnapshot | str | bytes | None
