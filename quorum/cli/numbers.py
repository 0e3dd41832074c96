"""How large the numbers are that requests have room for: an option is refused before it is sent.

Decides nothing. Source: int16 and int32 of Kafka's protocol, and of ours.
"""

from __future__ import annotations

from typing import Final

MAX_INT16: Final = (1 << 15) - 1
MAX_INT32: Final = (1 << 31) - 1
