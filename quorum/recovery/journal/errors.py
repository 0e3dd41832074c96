"""Errors of a repair that is refused or fails. Each message gives the reason and the next step."""

from __future__ import annotations

from metadata_log.errors import MetadataLogError, WrongUseError


class RecoveryError(MetadataLogError):
    """A repair failed; the message says in which state the directory is."""


class RefusedError(RecoveryError):
    """The repair is refused, since it might destroy something. Nothing was changed."""


class WrongOptionError(RefusedError, WrongUseError):
    """The repair is refused because of its options, whatever the directories hold."""


class AlreadyDoneError(RefusedError):
    """The directory is already in the requested state."""
