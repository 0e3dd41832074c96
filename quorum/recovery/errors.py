"""Why a repair is not done, or could not be finished.

Decides: nothing. Each message says what was wrong and what to do.
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError


class RecoveryError(MetadataLogError):
    """A repair failed; the message says in which state the directory is."""


class RefusedError(RecoveryError):
    """A repair that is not done, since it might destroy something: nothing was changed."""


class AlreadyDoneError(RefusedError):
    """The directory is already as it was asked for."""
