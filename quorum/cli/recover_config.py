"""Configurations that `kraft recover static-voters` is given to check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from quorum.cli.errors import wrong_use
from quorum.node.properties import PropertiesError, parse_properties
from quorum.recovery.guards.request import Proposal
from quorum.recovery.repairs.static_voters import StaticVoter, config_problems


def check_configs(proposal: Proposal, configs: Sequence[Path], named: Sequence[StaticVoter]) -> Proposal:
    """The proposal with what these configurations have to be changed in.

    Raises:
        CliError: one is no properties file: nothing is changed while what was to be checked is not.
        OSError: one cannot be read.
    """
    problems = [problem for path in configs for problem in config_problems(_properties(path), named, str(path))]
    return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, *problems))


def _properties(path: Path) -> Mapping[str, str]:
    try:
        return parse_properties(path.read_text(encoding="utf-8"), source=f"--config {path}")
    except PropertiesError as error:
        raise wrong_use(str(error)) from error
    except UnicodeDecodeError as error:
        raise wrong_use(f"--config {path}: byte {error.start} is not of a text in UTF-8: write the file so") from error
