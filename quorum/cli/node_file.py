"""The `.properties` file of a node, of this software or of Kafka, as a way to name its directories.

Decides: which keys are read: only those of the node's id, roles and directories. Other keys may be invalid, and every
role is accepted, also a broker's and the combined one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final, NamedTuple

import typer

from quorum.cli.errors import CliError, wrong_use
from quorum.node.config.properties import Properties, PropertiesError, as_warning, read_properties

_KEYS: Final = ("process.roles", "node.id", "broker.id", "log.dirs", "log.dir", "metadata.log.dir")

NodeFiles = Annotated[
    list[Path] | None,
    typer.Option(
        "-c",
        "--config",
        help="A node's .properties file, ours or Kafka's: look into its log.dirs. May be repeated.",
        exists=True,
        dir_okay=False,
    ),
]


class NodeFile(NamedTuple):
    """The id, role and directories of a node, from its file."""

    node_id: int
    is_controller: bool
    log_dirs: tuple[str, ...]
    """The log directories and that of the metadata log, each once."""
    metadata_dir: str


def read_node_file(path: Path) -> NodeFile:
    """Read a node's file.

    Raises:
        CliError: the file names no node or no directory, or a needed value cannot be resolved.
    """
    try:
        found = read_properties(path)
    except PropertiesError as error:
        raise wrong_use(f"--config {error}") from error
    for key in _KEYS:
        if key in found.errors:
            raise _wrong(path, found.errors[key], found)
    given = {key: found.values.get(key, "") for key in _KEYS}
    node_id = given["node.id"] or given["broker.id"]
    if not (node_id.isascii() and node_id.isdecimal()):
        name = "broker.id" if not given["node.id"] and given["broker.id"] else "node.id"
        pair = found.shown.pair(name) if given[name] else f"{name}="
        raise _wrong(path, f"{pair} is no node's id: name the .properties file of a node", found)
    disks = _listed(given["log.dirs"] or given["log.dir"])
    metadata = given["metadata.log.dir"]
    directories = tuple(dict.fromkeys([*disks, *([metadata] if metadata else [])]))
    if not directories:
        raise _wrong(path, "it has neither log.dirs nor metadata.log.dir", found)
    is_controller = "controller" in _listed(given["process.roles"])
    return NodeFile(int(node_id), is_controller, directories, metadata or directories[0])


def _wrong(path: Path, problem: str, found: Properties) -> CliError:
    """Return the error of a file, with everything else in it that may be wrong."""
    return wrong_use("\n  ".join([f"--config {path}: {problem}", *map(as_warning, found.warnings)]))


def directories_of(paths: list[Path] | None, configs: list[Path] | None, metavar: str) -> list[Path]:
    """Return the directories of a command's arguments and of its nodes' files.

    Raises:
        CliError: neither is given, or a file names no directory.
    """
    named = [Path(at) for config in configs or [] for at in read_node_file(config).log_dirs]
    if not paths and not named:
        raise wrong_use(f"give {metavar}, or --config with a node's .properties file")
    return [*(paths or []), *named]


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
