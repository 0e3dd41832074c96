"""The files that `kraft recover` leaves in a log directory while a repair is under way.

Decides: their names. Must not know: what is in them.
"""

from __future__ import annotations

from typing import Final

from metadata_log.directory.meta_properties import META_PROPERTIES_FILE
from metadata_log.files.port import Files

REPAIR_JOURNAL_FILE: Final = "kraft-recover.journal"
"""From the moment that a repair is decided until it is done."""
HELD_SUFFIX: Final = ".recover-held"
"""Of meta.properties while files are exchanged: nothing starts on the directory meanwhile."""


def unfinished_repair(files: Files, log_dir: str) -> str | None:
    """Return the path of a file that shows that a repair of this log directory is not finished, or None."""
    paths = (f"{log_dir}/{REPAIR_JOURNAL_FILE}", f"{log_dir}/{META_PROPERTIES_FILE}{HELD_SUFFIX}")
    return next((path for path in paths if files.exists(path)), None)
