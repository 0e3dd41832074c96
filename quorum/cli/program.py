"""The name that the program was called by: another tool's command is called kraft, too, so that ours has an alias."""

from __future__ import annotations

import os


def program_name(path: str) -> str:
    """Return the name by which the program was called: of its file, or kraft if that is no name for a command."""
    name = os.path.basename(path)
    is_name = name.isascii() and name[:1].isalpha() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_name else "kraft"


def completion_variable(name: str) -> str:
    """Return the environment variable by which a shell asks the program of this name for completions."""
    return f"_{name}_COMPLETE".replace("-", "_").upper()
