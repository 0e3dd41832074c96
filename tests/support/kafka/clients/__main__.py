"""`python -m tests.support.kafka.clients CLIENT BOOTSTRAP TOPIC`: run the scenario with one client, and print JSON."""

from __future__ import annotations

import importlib
import json
import sys

from tests.support.kafka.clients.scenario import play

_, client, bootstrap, topic = sys.argv
player = importlib.import_module(f"tests.support.kafka.clients.with_{client}").Player(bootstrap)
print(json.dumps(play(player, topic)))
