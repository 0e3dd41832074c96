"""Configurations that `kraft recover static-voters` is given to check."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from quorum.node.properties import parse_properties
from quorum.recovery.request import Proposal
from quorum.recovery.static_voters import StaticVoter, config_problems


def check_configs(proposal: Proposal, configs: Sequence[Path], named: Sequence[StaticVoter]) -> Proposal:
    """The proposal with what these configurations have to be changed in."""
    problems = [
        problem
        for path in configs
        for problem in config_problems(parse_properties(path.read_text(encoding="utf-8")), named, str(path))
    ]
    return msgspec.structs.replace(proposal, warnings=(*proposal.warnings, *problems))
