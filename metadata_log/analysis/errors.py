"""What keeps an analysis from being made at all, as opposed to what it finds."""

from __future__ import annotations

from typing import Final

from metadata_log.errors import MetadataLogError


class AnalysisError(MetadataLogError):
    """The analysis cannot be made: there is no log where one was named, or no Java. Its exit status is 2."""

    exit_status: Final = 2


class JavaNotFoundError(AnalysisError):
    """Spark needs Java 17 or newer, and there is none."""
