"""A recording: every controller of a real cluster is destroyed, and its runbook is followed under a clock.

    python -m tests.support.kafka.recording docs/runbooks/all-controllers-lost.txt

Hosts, ports and paths are shown as in the runbook; everything else is shown as it was printed.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.recovery import Contents, read_contents, write_contents
from tests.support.kafka.runbook import Block, Player, blocks_of
from tests.support.kafka.tools import KafkaTools

_RUNBOOK = "all-controllers-lost"
_RESTARTED_BROKER = 11


class Recording:
    """The lines shown so far; each is printed at once."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str = "") -> None:
        """Show a line."""
        self.lines.append(line.rstrip())
        print(line.rstrip(), flush=True)

    def command(self, host: int, at: float, command: str, printed: str) -> None:
        """Show a command, when it was given, and what it printed."""
        self.say(f"[{at:5.1f} s] host{host}$ {' '.join(command.split())}")
        for line in printed.strip().splitlines():
            self.say(f"    {line}")
        self.say()


def record(shown: Recording, cluster: KafkaCluster, contents: Contents) -> None:
    """Follow the runbook, and show each step."""
    cluster.start()
    write_contents(cluster, contents)
    before = read_contents(cluster, contents)
    shown.say("# Apache Kafka 4.3: three controllers, two brokers; topics with messages, configs, ACLs, a SCRAM user.")
    shown.say("# kill -9 of all three controllers, and their directories are removed. The brokers go on running.")
    for node in cluster.controllers:
        node.kill()
    began = time.monotonic()
    for node in cluster.controllers:
        shutil.rmtree(node.log_dir)
    player = Player(cluster, own_processes=True)
    for host, command in _commands():
        at = time.monotonic() - began
        player.run(Block(host=host, commands=(command,)))
        shown.command(host, at, command, player.as_written(player.said[-1][1]))
    shown.say(f"# {time.monotonic() - began:.0f} s from the last kill to the first new topic.")
    same = read_contents(cluster, contents) == before
    shown.say(f"# Every topic id, message, config, ACL and user is as before: {'yes' if same else 'NO'}.")
    shown.say("# Controllers 2 and 3 then join again, as the runbook goes on.")


def _commands() -> Iterator[tuple[int, str]]:
    """Yield the runbook's commands, up to the first new topic; brokers that run and need no restart are left out."""
    for block in blocks_of(_RUNBOOK):
        if block.host == _RESTARTED_BROKER:
            continue
        for command in block.commands:
            if not command.startswith("systemctl restart"):
                yield block.host, command
            if "--create" in command:
                return


def main(target: Path) -> None:
    """Record into `target`, as text."""
    shown = Recording()
    root = Path(tempfile.mkdtemp())
    contents = Contents(topics={"orders": 40, "payments": 25})
    with KafkaTools() as tools, KafkaCluster(root / "cluster", tools, properties=Contents.PROPERTIES) as cluster:
        record(shown, cluster, contents)
    target.write_text("".join(f"{line}\n" for line in shown.lines), encoding="utf-8")
    shutil.rmtree(root)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
