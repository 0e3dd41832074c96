"""`meta.properties`: the cluster id, node id and directory id of a log directory.

Decides: its text, as Kafka's formatter writes it. Must not know: the checks at start, except `check_own`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from metadata_log.errors import CorruptFileError, ForeignDirectoryError, NewerFileError, NotFormattedError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.ids import DirectoryId, InvalidIdError, NodeId, id_text, parse_directory_id
from metadata_log.java_properties import PROPERTY_BLANKS, MalformedEscapeError, properties_in
from metadata_log.quoting import quoted

META_PROPERTIES_FILE: Final = "meta.properties"
_VERSION: Final = 1
_ID_KEYS: Final = {0: "broker.id", _VERSION: "node.id"}
"""Version → key of the node id. 0 is ZooKeeper's: a migrated broker keeps such a file, and Kafka 4 starts from it."""
_ESCAPED = re.compile(r"^ |[\\=:#!]|[^ -~]")
_LETTERS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
"""The letters with which Java's Properties escapes white space."""
_LETTER_OF: Final = {character: letter for letter, character in _LETTERS.items()}


class MetaProperties(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of the file. Before Kafka 3.7 directories have no `directory_id` (None).

    `version` is 0 in a directory of a broker that was migrated from ZooKeeper.
    """

    cluster_id: str
    node_id: NodeId
    directory_id: DirectoryId | None
    version: int = _VERSION

    def check_own(self, path: str, *, cluster_id: str | None = None, node_id: int | None = None) -> None:
        """Check that the directory belongs to this cluster and this node; None skips a comparison.

        Raises:
            ForeignDirectoryError: cluster id or node id differs.
        """
        if cluster_id is not None and cluster_id != self.cluster_id:
            raise ForeignDirectoryError(f"{path} belongs to cluster {self.cluster_id}, not to {cluster_id}")
        if node_id is not None and node_id != self.node_id:
            raise ForeignDirectoryError(f"{path} belongs to node {self.node_id}, but node.id is {node_id}")


def format_meta_properties(properties: MetaProperties, written_at_ms: int) -> bytes:
    """Return the file's bytes: an empty comment, the date in UTC, and the keys in Kafka's order."""
    date = time.strftime("%a %b %d %H:%M:%S UTC %Y", time.gmtime(written_at_ms // 1000))
    pairs = [(_ID_KEYS[properties.version], str(properties.node_id))]
    if properties.directory_id is not None:
        pairs.append(("directory.id", id_text(properties.directory_id)))
    pairs += [("version", str(properties.version)), ("cluster.id", properties.cluster_id)]
    lines = ["#", f"#{date}", *(f"{key}={_ESCAPED.sub(_backslashed, value)}" for key, value in pairs)]
    return "".join(f"{line}\n" for line in lines).encode("ascii")


def _backslashed(match: re.Match[str]) -> str:
    character = match[0]
    if character in _LETTER_OF or " " <= character <= "~":
        return "\\" + _LETTER_OF.get(character, character)
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02X}{units[at + 1]:02X}" for at in range(0, len(units), 2))


def parse_meta_properties(data: bytes, path: str) -> MetaProperties:
    """Return the content of the file's bytes. `path` is for messages.

    Raises:
        CorruptFileError: a key is missing, or its value is invalid.
        NewerFileError: the file has an unknown, later version.
    """
    pairs = _pairs(data, path)
    version = _version(pairs, path)
    if version > _VERSION:
        raise NewerFileError(
            path, f"it is of version {quoted(version)}, of newer software, and we know {_VERSION}: use a newer kraft"
        )
    directory = pairs.get("directory.id")
    try:
        directory_id = None if directory is None else parse_directory_id(directory.rstrip(PROPERTY_BLANKS))
    except InvalidIdError as error:
        raise CorruptFileError(path, f"directory.id: {error}") from error
    return MetaProperties(
        cluster_id=_present(pairs, "cluster.id", path),
        node_id=NodeId(_integer(pairs, _ID_KEYS[version], path)),
        directory_id=directory_id,
        version=version,
    )


def _version(pairs: Mapping[str, str], path: str) -> int:
    """Return the version, or 0 if the file has none, as Kafka's MetaProperties does."""
    if "version" in pairs:
        return _integer(pairs, "version", path)
    if _ID_KEYS[0] not in pairs:
        raise CorruptFileError(path, f"it has no version, as of version 0, and no {_ID_KEYS[0]}")
    return 0


def stated_node_id(data: bytes, path: str) -> NodeId | None:
    """Return the node id in a file whose other lines may be corrupt, or None if it has none."""
    try:
        pairs = _pairs(data, path)
        return NodeId(_integer(pairs, next((key for key in _ID_KEYS.values() if key in pairs), ""), path))
    except CorruptFileError:
        return None


def _pairs(data: bytes, path: str) -> dict[str, str]:
    try:
        return {found.key: found.value for found in properties_in(data.decode("latin-1"))}
    except MalformedEscapeError as error:
        raise CorruptFileError(path, str(error)) from error


def _present(pairs: Mapping[str, str], key: str, path: str) -> str:
    """Return a value, which may be empty: Kafka formats with an empty cluster id, and starts from it.

    Raises:
        CorruptFileError: the key is missing.
    """
    if key not in pairs:
        raise CorruptFileError(path, f"it has no {key}")
    return pairs[key]


def _integer(pairs: Mapping[str, str], key: str, path: str) -> int:
    text = _present(pairs, key, path).rstrip(PROPERTY_BLANKS)
    if not re.fullmatch(r"\d{1,10}", text, re.ASCII):
        raise CorruptFileError(path, f"{key} is {quoted(text)}, not a number of 0 or more")
    return int(text)


def read_meta_properties(files: Files, log_dir: str) -> MetaProperties:
    """Return the properties of a formatted directory.

    Raises:
        NotFormattedError: the directory has no such file.
        CorruptFileError, NewerFileError: as `parse_meta_properties`.
    """
    path = f"{log_dir}/{META_PROPERTIES_FILE}"
    try:
        data = read_small_file(files, path)
    except FileNotFoundError as error:
        raise NotFormattedError(
            f"{log_dir} is not formatted: it has no {META_PROPERTIES_FILE}. If its disk is not mounted, mount it, and "
            "format nothing; run `kraft storage format` for a new directory alone"
        ) from error
    return parse_meta_properties(data, path)


def write_meta_properties(files: Files, log_dir: str, properties: MetaProperties, *, written_at_ms: int) -> None:
    """Replace the file durably. A crash leaves the old or the new file, complete."""
    replace_file(files, f"{log_dir}/{META_PROPERTIES_FILE}", format_meta_properties(properties, written_at_ms))


def give_directory_id(
    files: Files, log_dir: str, new_id: Callable[[], DirectoryId], *, written_at_ms: int
) -> MetaProperties:
    """Add a directory id to a file without one, durably, as Kafka from 3.7 on does at its start (KIP-858).

    An existing id is kept, and so is the version. The caller holds the directory's lock.

    Raises:
        NotFormattedError, CorruptFileError: as `read_meta_properties`.
        OSError: the file cannot be written.
    """
    found = read_meta_properties(files, log_dir)
    if found.directory_id is not None:
        return found
    given = msgspec.structs.replace(found, directory_id=new_id())
    write_meta_properties(files, log_dir, given, written_at_ms=written_at_ms)
    return given
