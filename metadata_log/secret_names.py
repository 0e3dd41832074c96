"""Names of configs whose values are secrets.

Decides: which values are hidden in all output. Must not know: which command shows them. A config of a plugin has no
type in the log, so its name alone says that it may be a secret.
"""

from __future__ import annotations

import re
from typing import Final

_SECRET: Final = re.compile(
    r"password|passphrase|secret|jaas|credential|token|certificate|keystore\.key|private\.key|master\.key",
    re.IGNORECASE,
)


def may_be_secret(name: str) -> bool:
    """Return True if a config of this name may hold a secret, be it Kafka's or a plugin's."""
    return _SECRET.search(name) is not None
