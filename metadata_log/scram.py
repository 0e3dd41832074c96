"""SCRAM's mechanisms as Kafka numbers them (ScramMechanism; KIP-84, KIP-554).

Decides: the mechanisms, and the sizes and limits of their credentials.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HASHES: Final[Mapping[int, str]] = {1: "sha256", 2: "sha512"}
"""hashlib's name of each mechanism's hash: 1 is SCRAM-SHA-256, 2 is SCRAM-SHA-512."""
KEY_SIZES: Final[Mapping[int, int]] = {1: 32, 2: 64}
"""The bytes of a stored key, and of a server key, of each mechanism."""
FEWEST_ITERATIONS: Final = 4096
"""The minimum of both mechanisms."""
MOST_ITERATIONS: Final = 16384
"""The controller's maximum; brokers accept more."""
