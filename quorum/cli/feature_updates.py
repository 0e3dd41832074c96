"""`kraft features describe`, `upgrade`, `downgrade` and `disable`, with the option names of kafka-features.

Decides: which levels the options name, and how results are printed. Must not know: which changes are allowed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from metadata_log.records.feature_levels import mapped_features
from metadata_log.records.levels import FEATURE_NAME, UnknownLevelError, parse_metadata_version, plain_level_name
from quorum.cli.connection import (
    DEFAULT_TIMEOUT_S,
    AtLeastOption,
    BootstrapController,
    Consistency,
    ConsistencyOption,
    Timeout,
    at_least_offset,
    timeout_option,
    with_client,
)
from quorum.cli.errors import say, wrong_use
from quorum.cli.option_values import MAX_INT16, MAX_INT32
from quorum.cli.output import Output, OutputFormat, show_json, show_rows

if TYPE_CHECKING:
    from quorum.api.features import UpgradeType
    from quorum.client import FeatureMetadata

DESCRIBE_EPILOG: Final = (
    "Examples:  kraft features describe --bootstrap-controller localhost:9094"
    "    kraft features describe --bootstrap-controller localhost:9094 --node-id 2"
)
UPGRADE_EPILOG: Final = (
    "Examples:  kraft features upgrade --bootstrap-controller localhost:9094 --release-version 4.4 --dry-run"
    "    kraft features upgrade --bootstrap-controller localhost:9094 --feature kraft.version=1"
)
DOWNGRADE_EPILOG: Final = (
    "Examples:  kraft features downgrade --bootstrap-controller localhost:9094 --release-version 4.2 --dry-run"
    "    kraft features downgrade --bootstrap-controller localhost:9094 --feature group.version=0"
)
DISABLE_EPILOG: Final = (
    "Example:  kraft features disable --bootstrap-controller localhost:9094 --feature group.version --dry-run"
)
_COLUMNS: Final = ("feature", "supported_min_version", "supported_max_version", "finalized_version_level", "epoch")

Features = Annotated[
    list[str] | None, typer.Option("--feature", help="A feature and its level, name=level; may be given again.")
]
Release = Annotated[
    str | None,
    typer.Option(
        "--release-version",
        help="Set all features to the levels of a release, such as 4.2: see kraft storage version-mapping.",
    ),
]
Metadata = Annotated[
    str | None,
    typer.Option("--metadata", help="Deprecated: the level of metadata.version alone, such as 4.2-IV1."),
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe", help="Also where it may destroy metadata. Of metadata.version the controllers refuse that so far."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only ask whether the controllers would do it.")]
UpdateTimeout = Annotated[float, timeout_option("for the change to commit")]


def describe(
    bootstrap_controller: BootstrapController = "",
    node_id: Annotated[
        int | None,
        typer.Option("--node-id", help="The controller that answers, from its own image.", min=0, max=MAX_INT32),
    ] = None,
    consistency: ConsistencyOption = Consistency.LINEARIZABLE,
    at_least: AtLeastOption = None,
    timeout: Timeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Describe the finalized level of each feature, and the levels that the answering controller supports.

    The epoch is the offset of the last record that the answer has seen.
    """
    from quorum.client import Admin  # noqa: PLC0415  (not needed for help)

    offset = at_least_offset(consistency, at_least)
    found = with_client(
        bootstrap_controller,
        timeout,
        lambda client: Admin(client).describe_features(node_id=node_id, at_least_offset=offset),
    )
    rows = rows_of(found)
    shown = rows if output is OutputFormat.JSON else [_for_people(row) for row in rows]
    show_rows(output, _COLUMNS, shown, name="features")


def rows_of(found: FeatureMetadata) -> list[dict[str, object]]:
    """Return a row for each feature that is supported or finalized, by name."""
    rows: list[dict[str, object]] = []
    for name in sorted({*found.supported_features, *found.finalized_features}):
        least, most = found.supported_features.get(name, (None, None))
        level = found.finalized_features.get(name, 0)
        rows.append(
            {
                "feature": name,
                "supported_min_version": least,
                "supported_max_version": most,
                "finalized_version_level": level,
                "metadata_version": plain_level_name(level) if name == FEATURE_NAME else None,
                "epoch": found.finalized_features_epoch,
            }
        )
    return rows


def _for_people(row: Mapping[str, object]) -> dict[str, object]:
    """Return the row with the names of metadata.version's levels in place of their numbers."""
    if row["feature"] != FEATURE_NAME:
        return {key: str(value) if key in _COLUMNS[1:4] else value for key, value in row.items()}
    return {
        key: plain_level_name(value) if key in _COLUMNS[1:4] and isinstance(value, int) else value
        for key, value in row.items()
    }


def upgrade(
    bootstrap_controller: BootstrapController = "",
    feature: Features = None,
    release_version: Release = None,
    metadata: Metadata = None,
    dry_run: DryRun = False,
    timeout: UpdateTimeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Raise levels of features, all or none; every registered node must support them.

    kraft.version from 0 to 1 moves the static voters out of the configuration into the log, for good. Every voter of
    controller.quorum.voters has to run and to follow the leader. Afterwards voters can be added and removed (kraft
    quorum add-controller); the key may be taken out of the nodes' files. --release-version includes kraft.version.
    """
    from quorum.api.features import UpgradeType  # noqa: PLC0415  (not needed for help)

    levels = _levels(feature, release_version, metadata, is_upgrade=True)
    _update(bootstrap_controller, levels, UpgradeType.UPGRADE, timeout, output, dry_run=dry_run)


def downgrade(
    bootstrap_controller: BootstrapController = "",
    feature: Features = None,
    release_version: Release = None,
    metadata: Metadata = None,
    unsafe: Unsafe = False,
    dry_run: DryRun = False,
    timeout: UpdateTimeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Lower levels of features, all or none; level 0 disables a feature.

    metadata.version only falls if no record changed between the two levels. kraft.version never falls.
    """
    from quorum.api.features import UpgradeType  # noqa: PLC0415  (not needed for help)

    levels = _levels(feature, release_version, metadata, is_upgrade=False)
    kind = UpgradeType.UNSAFE_DOWNGRADE if unsafe else UpgradeType.SAFE_DOWNGRADE
    _update(bootstrap_controller, levels, kind, timeout, output, dry_run=dry_run)


def disable(
    bootstrap_controller: BootstrapController = "",
    feature: Annotated[
        list[str] | None, typer.Option("--feature", help="A feature's name; may be given again.")
    ] = None,
    unsafe: Unsafe = False,
    dry_run: DryRun = False,
    timeout: UpdateTimeout = DEFAULT_TIMEOUT_S,
    output: Output = OutputFormat.TABLE,
) -> None:
    """Lower features to level 0, all or none: the same as kraft features downgrade --feature NAME=0."""
    from quorum.api.features import UpgradeType  # noqa: PLC0415  (not needed for help)

    names = feature or []
    if not names:
        raise wrong_use("say which features: --feature NAME")
    for name in names:
        if "=" in name:
            raise wrong_use(f"--feature {name!r}: name a feature without a level, since all are lowered to 0")
        if names.count(name) > 1:
            raise wrong_use(f"--feature {name} is given twice")
    kind = UpgradeType.UNSAFE_DOWNGRADE if unsafe else UpgradeType.SAFE_DOWNGRADE
    levels = dict.fromkeys(names, 0)
    _update(bootstrap_controller, levels, kind, timeout, output, dry_run=dry_run, is_disabling=True)


def _update(
    bootstrap_controller: str,
    levels: Mapping[str, int],
    kind: UpgradeType,
    timeout_s: float,
    output: OutputFormat,
    *,
    dry_run: bool,
    is_disabling: bool = False,
) -> None:
    from quorum.api.features import UpgradeType  # noqa: PLC0415  (not needed for help)
    from quorum.client import Admin  # noqa: PLC0415

    with_client(
        bootstrap_controller,
        timeout_s,
        lambda client: Admin(client).update_features(levels, upgrade_type=kind, validate_only=dry_run),
    )
    if output is OutputFormat.JSON:
        rows = [{"feature": name, "level": level} for name, level in levels.items()]
        show_json({"features": rows, "dry_run": dry_run})
        return
    verb = "upgraded" if kind == UpgradeType.UPGRADE else "downgraded"
    for name, level in sorted(levels.items()):
        done = "disabled" if is_disabling else f"{verb} to {level}"
        print(f"{name} {'can be' if dry_run else 'was'} {done}.")


def _levels(
    features: Sequence[str] | None, release: str | None, metadata: str | None, *, is_upgrade: bool
) -> dict[str, int]:
    """Return the levels that the options name, by feature. An upgrade to a release leaves out features of level 0.

    Raises:
        CliError: the options name no level, or a level in another form.
    """
    if release is not None:
        if features or metadata is not None:
            other = "--feature" if features else "--metadata"
            raise wrong_use(f"--release-version names the levels of all features: leave {other} out")
        mapped = mapped_features(_metadata_level("--release-version", release))
        return {name: level for name, level in mapped.items() if level > 0 or not is_upgrade}
    levels: dict[str, int] = {}
    if metadata is not None:
        level = levels[FEATURE_NAME] = _metadata_level("--metadata", metadata)
        say(f"kraft: --metadata is deprecated: write --release-version, or --feature {FEATURE_NAME}={level}")
    for text in features or ():
        name, separator, number = text.partition("=")
        if (
            not separator
            or not name
            or not (number.isascii() and number.isdigit())
            or len(number) > len(str(MAX_INT16))
        ):
            raise wrong_use(f"--feature {text!r} is not NAME=LEVEL, such as kraft.version=1")
        if name in levels:
            raise wrong_use(f"--feature {name} is given twice")
        levels[name] = int(number)
    if not levels:
        raise wrong_use("say which levels: --feature NAME=LEVEL or --release-version RELEASE")
    return levels


def _metadata_level(option: str, text: str) -> int:
    try:
        return parse_metadata_version(text).level
    except UnknownLevelError as error:
        raise wrong_use(f"{option}: {error}") from error
