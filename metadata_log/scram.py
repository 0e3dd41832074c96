"""SCRAM's mechanisms as Kafka numbers them (ScramMechanism; KIP-84, KIP-554).

Decides: which there are, and what a credential of each has. Must not know: how one is made, kept or judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

HASHES: Final[Mapping[int, str]] = {1: "sha256", 2: "sha512"}
"""The name of each mechanism's hash, as hashlib has it: 1 is SCRAM-SHA-256, 2 SCRAM-SHA-512."""
KEY_SIZES: Final[Mapping[int, int]] = {1: 32, 2: 64}
"""How many bytes a stored key, and a server key, of each mechanism has."""
FEWEST_ITERATIONS: Final = 4096
"""Of both mechanisms."""
MOST_ITERATIONS: Final = 16384
"""A limit of the controller's alone: brokers take more."""
