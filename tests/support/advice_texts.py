"""Every advice that a module of the toolkit gives a name, so that no test lists these modules."""

from __future__ import annotations

import importlib
import pkgutil

import metadata_log.tools
from metadata_log.tools.findings.remedy import Advice


def named_advice() -> dict[str, Advice]:
    """Return every advice with a name in a module of `metadata_log.tools`."""
    modules = pkgutil.walk_packages(metadata_log.tools.__path__, "metadata_log.tools.")
    every = [vars(importlib.import_module(found.name)) for found in modules]
    return {name: one for names in every for name, one in names.items() if isinstance(one, Advice)}
