"""Names of configs whose values are secrets.

Decides: which values all output hides. The log has no types for a plugin's configs, so only the name shows that a value
may be secret.
"""

from __future__ import annotations

import re
from typing import Final

_SECRET: Final = re.compile(
    r"password|passphrase|secret|jaas|credential|token|certificate|keystore\.key|private\.key|master\.key",
    re.IGNORECASE,
)


def may_be_secret(name: str) -> bool:
    """Return True if a config of Kafka or of a plugin with this name may be a secret."""
    return _SECRET.search(name) is not None
