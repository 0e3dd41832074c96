"""`python -m tests.support.kafka.clients CLIENT BOOTSTRAP TOPIC`: plays the story with one client, and prints JSON."""

from __future__ import annotations

import importlib
import json
import sys

from tests.support.kafka.clients.story import play

_, client, bootstrap, topic = sys.argv
player = importlib.import_module(f"tests.support.kafka.clients.with_{client}").Player(bootstrap)
print(json.dumps(play(player, topic)))
