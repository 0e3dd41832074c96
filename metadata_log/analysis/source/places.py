"""Files of metadata logs in any place that `pyarrow.fs` can read: local paths and URIs such as s3://bucket/exports.

Decides: which files below a path are a metadata log's, and whose log it is. Must not know: what is in them, and Spark.

Run here: local paths and s3. Passed through to Arrow, but not run here: gs, hdfs, abfs.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from functools import lru_cache
from os.path import abspath
from posixpath import basename, dirname
from typing import Any, Final

import msgspec
import pyarrow as pa  # type: ignore[import-untyped]
from pyarrow import fs

from metadata_log.analysis.errors import AnalysisError
from metadata_log.columnar.tables import LogIdentity
from metadata_log.directory import META_PROPERTIES_FILE, METADATA_DIRECTORY
from metadata_log.directory.meta_properties import parse_meta_properties
from metadata_log.errors import CorruptFileError, MetadataLogError
from metadata_log.ids import id_text
from metadata_log.tools.read.contents import data_files
from metadata_log.tools.read.manifest import MANIFEST_FILE, parse_manifest

_WILD: Final = frozenset("*?[")
"""Characters of wild cards. In a URI `?` begins the parameters."""


class LogFile(msgspec.Struct, frozen=True, kw_only=True):
    """A segment or checkpoint of a metadata log.

    Attributes:
        place: the path or URI below which it was found.
        path: its path in that place's file system.
        name: the path to print.
        size: its length, in bytes.
        modified_ms: the time of its last change, in ms since 1970, or None if the place does not keep it.
        log: the log that it belongs to.
    """

    place: str
    path: str
    name: str
    size: int
    modified_ms: int | None
    log: LogIdentity

    @property
    def is_checkpoint(self) -> bool:
        """Return True if it is a checkpoint, False if it is a segment."""
        return self.name.endswith(".checkpoint")


class RemoteFile:
    """An open file in any place, for the readers of batches."""

    def __init__(self, file: LogFile) -> None:
        self._name = file.name
        self._size = file.size
        try:
            self._file = file_system(file.place)[0].open_input_file(file.path)
        except OSError as error:
            raise self._unread(error) from error

    def pread(self, count: int, position: int) -> bytes:
        """Return up to `count` bytes at `position`.

        Raises:
            AnalysisError: the place does not give them.
        """
        wanted = max(min(count, self._size - position), 0)
        try:
            found: bytes = self._file.read_at(wanted, position)
        except OSError as error:
            raise self._unread(error) from error
        if len(found) < wanted:
            raise AnalysisError(
                f"{self._name}: it became shorter than {self._size} bytes since it was listed; read it again"
            )
        return found

    def _unread(self, error: OSError) -> AnalysisError:
        if isinstance(error, FileNotFoundError):
            return AnalysisError(f"{self._name}: it was removed since it was listed; list the logs again")
        return AnalysisError(f"{self._name}: it cannot be read: {error}")

    def size(self) -> int:
        """Return the length that the file had when it was listed. What was appended since is left out."""
        return self._size

    def close(self) -> None:
        """Close the file."""
        self._file.close()


@lru_cache(64)
def file_system(place: str) -> tuple[Any, str]:
    """Return Arrow's file system of a path or URI, and the path in it.

    Raises:
        AnalysisError: Arrow knows no such place.
    """
    if "://" not in place:
        return fs.LocalFileSystem(), abspath(place)
    scheme, _, rest = place.partition("://")
    where, _, parameters = rest.partition("?")
    fixed, wild = _split(where)
    try:
        system, path = fs.FileSystem.from_uri(f"{scheme}://{fixed}{'?' if parameters else ''}{parameters}")
    except (pa.ArrowInvalid, OSError, ValueError) as error:
        raise AnalysisError(f"{shown(place)}: Arrow cannot open it: {_without_secrets(str(error), rest)}") from error
    return system, f"{path.rstrip('/')}/{wild}" if wild else path


def _split(path: str) -> tuple[str, str]:
    """Return the folders of a path before the first one with a wild card, and the rest."""
    parts = path.split("/")
    first = next((index for index, part in enumerate(parts) if _WILD & set(part)), len(parts))
    return "/".join(parts[:first]), "/".join(parts[first:])


def _without_secrets(text: str, uri: str) -> str:
    """Return an error's text without the user, password and parameters of the URI that it is about."""
    authority, parameters = uri.partition("/")[0].rpartition("@")[0], uri.partition("?")[2]
    for secret in filter(None, (*authority.split(":"), parameters)):
        text = text.replace(secret, "***")
    return text


def shown(place: str) -> str:
    """Return a path or URI as it is printed: without a user, a password and parameters, which may be secrets."""
    scheme, is_uri, rest = place.partition("://")
    if not is_uri:
        return place
    authority, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def find_files(places: Sequence[str]) -> list[LogFile]:
    """Return the files of all metadata logs at these paths or URIs, each once, sorted by name.

    A path is a metadata directory, an export, or any folder above such ones. It may have `*`, `?` and `[...]`.

    Raises:
        AnalysisError: a path does not exist, or no metadata log is there.
    """
    found: dict[tuple[str, str], LogFile] = {}
    for place in places:
        here = list(_files_at(place))
        if not here:
            raise AnalysisError(f"{shown(place)}: no metadata log is there")
        found.update({(type(file_system(place)[0]).__name__, one.path): one for one in here})
    return sorted(found.values(), key=lambda one: one.name)


def _files_at(place: str) -> Iterator[LogFile]:
    system, path = file_system(place)
    fixed, wild = _split(path)
    try:
        infos = system.get_file_info(fs.FileSelector(fixed, recursive=True))
    except FileNotFoundError as error:
        raise AnalysisError(f"{shown(place)}: no such file or directory") from error
    except (OSError, pa.ArrowException) as error:
        said = _without_secrets(str(error), place.partition("://")[2])
        raise AnalysisError(f"{shown(place)}: it cannot be listed: {said}") from error
    folders: dict[str, dict[str, Any]] = {}
    for info in infos:
        if info.is_file and (not wild or _is_below(dirname(info.path), path)):
            folders.setdefault(dirname(info.path), {})[basename(info.path)] = info
    for folder, files in sorted(folders.items()):
        names = data_files(files)
        if names and (basename(folder) == METADATA_DIRECTORY or MANIFEST_FILE in files or folder == path.rstrip("/")):
            log = _identity(system, folder, files, folders.get(dirname(folder), {}))
            for name in names:
                yield _log_file(place, path, files[name], log)


def _is_below(folder: str, pattern: str) -> bool:
    while folder and folder != "/":
        if fnmatch.fnmatchcase(folder, pattern.rstrip("/")):
            return True
        folder = dirname(folder)
    return False


def _log_file(place: str, path: str, info: Any, log: LogIdentity) -> LogFile:
    is_uri = "://" in place
    name = f"{place.partition('://')[0]}://{info.path}" if is_uri else info.path
    modified = info.mtime_ns // 1_000_000 if info.mtime_ns and info.mtime_ns > 0 else None
    return LogFile(place=place, path=info.path, name=name, size=info.size, modified_ms=modified, log=log)


def _identity(system: Any, folder: str, files: dict[str, Any], above: dict[str, Any]) -> LogIdentity:
    """Return whose log a folder holds: by the export's manifest, or by meta.properties in it or beside it."""
    if MANIFEST_FILE in files:
        path = f"{folder}/{MANIFEST_FILE}"
        return _of_manifest(_text(system, path), path)
    for where, names in ((folder, files), (dirname(folder), above)):
        if META_PROPERTIES_FILE in names:
            return _of_properties(_text(system, f"{where}/{META_PROPERTIES_FILE}"))
    return LogIdentity()


def _text(system: Any, path: str) -> bytes:
    with system.open_input_file(path) as file:
        found: bytes = file.read()
        return found


def _of_manifest(text: bytes, path: str) -> LogIdentity:
    try:
        manifest = parse_manifest(text, path)
    except CorruptFileError as error:
        raise AnalysisError(str(error)) from error
    return LogIdentity(cluster_id=manifest.cluster_id, node_id=manifest.node_id, directory_id=manifest.directory_id)


def _of_properties(text: bytes) -> LogIdentity:
    """Return the identity that meta.properties states; a file that cannot be read states none, as `check` reports."""
    try:
        found = parse_meta_properties(text, META_PROPERTIES_FILE)
    except MetadataLogError:
        return LogIdentity()
    directory_id = None if found.directory_id is None else id_text(found.directory_id)
    return LogIdentity(cluster_id=found.cluster_id, node_id=found.node_id, directory_id=directory_id)
