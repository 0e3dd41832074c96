"""Why a repair is not done, or could not be finished.

Decides: nothing. Each message says what was wrong and what to do.
"""

from __future__ import annotations

from metadata_log.errors import MetadataLogError, WrongUseError


class RecoveryError(MetadataLogError):
    """A repair failed; the message says in which state the directory is."""


class RefusedError(RecoveryError):
    """A repair that is not done, since it might destroy something: nothing was changed."""


class WrongOptionError(RefusedError, WrongUseError):
    """A repair that is not done for how it was asked for, whatever the directories hold."""


class AlreadyDoneError(RefusedError):
    """The directory is already as it was asked for."""
