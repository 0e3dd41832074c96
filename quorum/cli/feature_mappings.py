"""`kraft storage version-mapping` and `feature-dependencies`: the levels of features in Kafka's releases.

Decides: how the levels are printed, which is how kafka-storage prints them. Must not know: which levels exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from metadata_log.records.feature_levels import (
    IN_KAFKAS_ORDER,
    mapped_features,
    needed_metadata_version,
    supported_features,
)
from metadata_log.records.levels import (
    DEFAULT_LEVEL,
    FEATURE_NAME,
    LATEST_PRODUCTION,
    UnknownLevelError,
    metadata_version,
    parse_metadata_version,
    plain_level_name,
)
from quorum.cli.errors import wrong_use
from quorum.cli.output import Output, OutputFormat, show_json

_DEFAULT_RELEASE: Final = metadata_version(DEFAULT_LEVEL).name
MAPPING_EPILOG: Final = (
    "Examples:  kraft storage version-mapping    kraft storage version-mapping --release-version 4.2 -o json"
)
DEPENDENCIES_EPILOG: Final = "Example:  kraft storage feature-dependencies --feature eligible.leader.replicas.version=1"


def version_mapping(
    release_version: Annotated[
        str, typer.Option("--release-version", "-r", help="A release, such as 4.2, or a level, such as 4.2-IV0.")
    ] = _DEFAULT_RELEASE,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print the level of each feature that Kafka maps to a release, in the lines of kafka-storage."""
    try:
        level = parse_metadata_version(release_version).level
    except UnknownLevelError as error:
        raise wrong_use(f"--release-version: {error}") from error
    levels = mapped_features(level)
    if output is OutputFormat.JSON:
        show_json({"release_version": release_version, "features": [_as_json(*each) for each in levels.items()]})
        return
    for name, number in levels.items():
        print(f"{name}={number} ({release_version})" if name == FEATURE_NAME else f"{name}={number}")


def feature_dependencies(
    feature: Annotated[
        list[str], typer.Option("--feature", "-f", help="A feature and its level, name=level; may be given again.")
    ],
    output: Output = OutputFormat.TABLE,
) -> None:
    """Print which levels of other features a level of a feature needs, in the lines of kafka-storage."""
    asked = [_parsed(text) for text in feature]
    if output is OutputFormat.JSON:
        rows = [{**_as_json(*each), "requires": [_as_json(*needed) for needed in _requires(*each)]} for each in asked]
        show_json({"features": rows})
        return
    for name, level in asked:
        for line in _dependency_lines(name, level):
            print(line)


def _dependency_lines(name: str, level: int) -> Sequence[str]:
    requires = _requires(name, level)
    if not requires:
        return [f"{_text(name, level)} has no dependencies."]
    return [f"{_text(name, level)} requires:", *(f"    {_text(*needed)}" for needed in requires)]


def _requires(name: str, level: int) -> list[tuple[str, int]]:
    needed = needed_metadata_version(name, level)
    return [(FEATURE_NAME, needed)] if needed else []


def _text(name: str, level: int) -> str:
    return f"{name}={level} ({plain_level_name(level)})" if name == FEATURE_NAME else f"{name}={level}"


def _as_json(name: str, level: int) -> dict[str, object]:
    return {
        "feature": name,
        "level": level,
        "metadata_version": plain_level_name(level) if name == FEATURE_NAME else None,
    }


def _parsed(text: str) -> tuple[str, int]:
    """Return the feature and the level of `name=level`.

    Raises:
        CliError: the text has another form, or there is no such feature or level.
    """
    name, separator, number = text.partition("=")
    if not separator or not (number.isascii() and number.isdigit()) or len(number) > len(str(1 << 31)):
        raise wrong_use(f"--feature {text}: write name=level, such as group.version=1")
    level = int(number)
    if name == FEATURE_NAME:
        try:
            return name, metadata_version(level).level
        except UnknownLevelError as error:
            raise wrong_use(f"--feature {text}: {error}") from error
    known = supported_features(LATEST_PRODUCTION)
    if name not in known:
        raise wrong_use(f"--feature {text}: unknown feature {name}; known are {', '.join(IN_KAFKAS_ORDER)}")
    if level > known[name]:
        raise wrong_use(f"--feature {text}: {name} has no level {level}, only 0 to {known[name]}")
    return name, level
