"""CRC-32C, the checksum of record batches.

Decides: how the native function is loaded. The package `crc32c` imports its own command line and, through
importlib.metadata, half of the `email` package: a third of the time of a small dump. Loading its extension module alone
avoids that. If a release has no such module, the whole package is imported.
"""

from __future__ import annotations

from importlib.machinery import ExtensionFileLoader, PathFinder
from typing import TYPE_CHECKING

__all__ = ["crc32c"]


def _extension() -> object | None:
    """Return the package's extension module without importing the package, or None if the package has none."""
    package = PathFinder.find_spec("crc32c")
    if package is None or package.submodule_search_locations is None:
        return None
    spec = PathFinder.find_spec("crc32c._crc32c", list(package.submodule_search_locations))
    if spec is None or not isinstance(spec.loader, ExtensionFileLoader):
        return None
    module = spec.loader.create_module(spec)
    spec.loader.exec_module(module)
    return module


if TYPE_CHECKING:
    from crc32c import crc32c
else:
    crc32c = getattr(_extension(), "crc32c", None)
    if crc32c is None:
        from crc32c import crc32c
