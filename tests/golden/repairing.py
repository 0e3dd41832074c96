"""Cases of `kraft recover ... --apply` and of its undo, one after the other on a copy of a scenario.

The command line's part of a repair is shown here: its output, and the steps that follow. A repair of damage has damage
to repair: a flipped byte, or a file that is gone. The bytes that a repair leaves are in the archive `applied`, whose
clock is fixed. Here the clock is the machine's, so times and digests of new files are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath
from typing import Final

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.format.epoch_file import EPOCH_FILE
from tests.golden.cases import APPLIED_COMMAND, Case, Scene
from tests.golden.layout import FACTS, Node, brokers_of, controllers_of
from tests.golden.recovering import NEW_CLUSTER, NEW_ENDPOINT, REST, dirs, members
from tests.support.clusters import SCENARIOS
from tests.support.damage import copy_cluster, flip

_NEW: Final = "new/data"


def repairing_scenes() -> Iterator[Scene]:
    """Yield a scene for each repair of each scenario, in text and in JSON."""
    for scenario in SCENARIOS:
        for name, (targets, words) in _repairs(scenario).items():
            for form in ("text", "json"):
                cases = list(_cases(f"{name}/{scenario}.{form}", targets, words, form))
                yield Scene(f"{scenario}-{name}-{form}", cases, partial(_copy, controllers_of(scenario)[0], name))


def _copy(node: Node, repair: str, clusters: Path, place: Path) -> tuple[Path, Mapping[str, str]]:
    """Copy the scenario, and damage the first controller if the repair is one of damage."""
    copy_cluster(clusters / node.scenario, place / node.scenario)
    metadata = place / node.data / METADATA_DIRECTORY
    if repair == "rebuild-indexes":
        (metadata / EPOCH_FILE).unlink()
    elif repair == "drop-snapshot" and _newest(node):
        flip(metadata / _newest(node))
    elif repair == "trim":
        flip(min(metadata.glob("*.log")))
    return place, {}


def _newest(node: Node) -> str:
    """Return the name of a node's newest checkpoint of a log, or nothing."""
    names = [PurePath(file).name for file in node.files if file.endswith(".checkpoint")]
    return max((name for name in names if int(name[:20])), default="")


def _cases(name: str, targets: Sequence[str], words: Sequence[str], form: str) -> Iterator[Case]:
    """Yield the repair, the same command again, and the undo of each directory."""
    commands = {"repair": ["recover", *words, "--apply"], "same-again": ["recover", *words, "--apply"]}
    for target in targets:
        commands[f"undo-{target.replace('/', '-')}"] = ["recover", "undo", "--dir", target, "--apply"]
    for what, command in commands.items():
        output = [] if form == "text" else ["-o", form]
        yield Case(APPLIED_COMMAND, f"{name}.{what}", (*command, *output), lot=name)


def _repairs(scenario: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return every repair by name: its directories, and its command line without `--apply`."""
    controllers, brokers = controllers_of(scenario), brokers_of(scenario)
    node, last = controllers[0], str(FACTS[scenario].ends[-1])
    everyone = [each.data for each in controllers]
    of_one: Callable[..., tuple[list[str], list[str]]] = partial(_of_one, node)
    return {
        "truncate": of_one("truncate", "--to", last, *REST, "--accept-data-loss"),
        "trim": of_one("truncate", "--before", str(int(_newest(node)[:20] or "250")), *REST),
        "drop-snapshot": of_one("drop-snapshot", *REST),
        "rebuild-indexes": of_one("rebuild-indexes"),
        "clone": of_one("cluster-id", "--to", NEW_CLUSTER, "--is-a-clone"),
        "standalone": of_one("standalone", *dirs(brokers, "--copy"), *REST),
        "cluster-id": (everyone, ["cluster-id", *dirs(controllers), "--to", NEW_CLUSTER]),
        "voters": (everyone, ["voters", *dirs(controllers), *members(controllers), *REST]),
        "static-voters": (everyone, ["static-voters", *dirs(controllers), *members(controllers), *REST]),
        "from-broker": (
            [_NEW],
            ["from-broker", "--dir", _NEW, "--node-id", "1", *dirs(brokers, "--broker-dir"), *NEW_ENDPOINT, *REST],
        ),
    }


def _of_one(node: Node, action: str, *words: str) -> tuple[list[str], list[str]]:
    return [node.data], [action, "--dir", node.data, *words]
