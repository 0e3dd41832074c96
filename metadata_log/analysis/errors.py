"""The errors that prevent an analysis, as opposed to its findings."""

from __future__ import annotations

from typing import Final

from metadata_log.errors import MetadataLogError


class AnalysisError(MetadataLogError):
    """The analysis cannot run: a path holds no log, or there is no Java. Its exit status is 2."""

    exit_status: Final = 2


class JavaNotFoundError(AnalysisError):
    """Spark needs Java 17 or newer, and none was found."""
