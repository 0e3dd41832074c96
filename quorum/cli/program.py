"""The name by which the program was called. Another tool's command is called kraft, too, so this one has an alias."""

from __future__ import annotations

import os


def program_name(path: str) -> str:
    """Return the file name of the called program, or kraft if that is not a valid command name."""
    name = os.path.basename(path)
    is_name = name.isascii() and name[:1].isalpha() and name.replace("-", "").replace("_", "").isalnum()
    return name if is_name else "kraft"


def completion_variable(name: str) -> str:
    """Return the environment variable by which a shell asks the program of this name for completions."""
    return f"_{name}_COMPLETE".replace("-", "_").upper()
