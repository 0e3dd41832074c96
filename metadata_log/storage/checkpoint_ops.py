"""Operations on checkpoint files: each is a plan that its caller runs in a thread that may block.

Decides: which failures are the checkpoint's (a result) and which are the disk's (raised). Must not know: the thread.
Operations run in the order in which they were made.
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
    """Append a batch to a checkpoint of this node. An empty batch finishes it: the result is then its durable size."""

    writer: CheckpointWriter
    batch: bytes

    def run(self) -> int | None:
        """Write the batch; raise StorageFailedError if a call fails."""
        try:
            if not self.batch:
                return self.writer.finish()
            self.writer.append(self.batch)
        except OSError as error:
            raise StorageFailedError(f"writing {self.writer.paths[0]} failed: {error.strerror or error}") from error
        return None


class StorePiece(msgspec.Struct, frozen=True, kw_only=True):
    """Write a received chunk to a temporary file. Position 0 begins a new file, and removes other snapshots' files."""

    files: Files
    directory: str
    end: OffsetAndEpoch
    position: int
    data: bytes

    def run(self) -> None:
        """Write the chunk; raise StorageFailedError if a call fails."""
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
    """Read and check a received snapshot; the result is its content, or its fault as text."""

    files: Files
    directory: str
    end: OffsetAndEpoch
    size: int

    def run(self) -> LoadedSnapshot | str:
        """Check the snapshot; raise OSError if it cannot be read, UnknownRecordError if newer software wrote it."""
        try:
            loaded = load_snapshot(self.files, f"{self.directory}/{received_name(self.end)}", self.end)
        except (CorruptBatchError, CorruptFileError, InvalidVoterError) as error:
            return str(error)
        return loaded if loaded.held.size == self.size else f"it has {loaded.held.size} bytes, not {self.size}"


class ReadPiece(msgspec.Struct, frozen=True, kw_only=True):
    """Read bytes of a checkpoint's file; for a corrupt file the result is its fault as text, for a missing one None.

    A read at position 0 checks the whole file first: a replica that installs a corrupt snapshot keeps it forever.
    """

    files: Files
    path: str
    end: OffsetAndEpoch
    position: int
    max_bytes: int

    def run(self) -> bytes | str | None:
        """Read the bytes; raise OSError if the file cannot be read."""
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
    """Close and remove a checkpoint that is no longer wanted, finished or not."""

    files: Files
    writer: CheckpointWriter

    def run(self) -> None:
        """Remove the files; raise StorageFailedError if a call fails."""
        self.writer.close()
        try:
            for path in self.writer.paths:
                if self.files.exists(path):
                    self.files.unlink(path)
        except OSError as error:
            raise StorageFailedError(f"removing {self.writer.paths[0]} failed: {error.strerror or error}") from error


CheckpointOp: TypeAlias = WritePiece | StorePiece | CheckReceived | ReadPiece | RemoveCheckpoint
CheckpointResult: TypeAlias = int | LoadedSnapshot | str | bytes | None
