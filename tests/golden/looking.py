"""Cases of the commands that look at directories: check, log, shell, features, storage."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tests.golden.cases import Case, in_forms
from tests.golden.layout import FACTS, Node, brokers_of, controllers_of, last_nodes, moments_of, nodes_of
from tests.golden.rendering import BINARY_FORMS

_ROWS: Final = ("json", "jsonl")
_DUMPS: Final = ("table", "json", "jsonl", "csv")
_TARGETS: Final = ("3.4-IV0", "3.7", "4.0", "4.3")
_OFFSET: Final = 40


def looking_cases(scenario: str) -> Iterator[Case]:
    """Yield the cases of a scenario."""
    yield from _checks(scenario)
    yield from _verifications(scenario)
    yield from _comparisons(scenario)
    yield from _hashes(scenario)
    yield from _dumps(scenario)
    yield from _shells(scenario)
    yield from _features(scenario)
    yield from _timelines(scenario)
    yield from _storage(scenario)


def groups(scenario: str) -> dict[str, list[str]]:
    """Return what may be named together, by name: all, the controllers, the brokers, a pair, each earlier moment."""
    controllers, brokers = ([node.path for node in one] for one in (controllers_of(scenario), brokers_of(scenario)))
    return {
        "all": [scenario],
        "last": [node.path for node in last_nodes(scenario)],
        "controllers": controllers,
        "brokers": brokers,
        "pair": [controllers[0], brokers[-1]],
        **{moment.rpartition("/")[2]: [moment] for moment in moments_of(scenario)},
        **{
            f"{moment.rpartition('/')[2]}-beside": [moment, *controllers[::2]]
            for moment in moments_of(scenario)
        },
    }  # fmt: skip


def _each(scenario: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every group and every node, with a name."""
    yield from groups(scenario).items()
    for node in nodes_of(scenario):
        yield _name(node), [node.path]


def _name(node: Node) -> str:
    return node.path.partition("/")[2].replace("/", "-")


def _checks(scenario: str) -> Iterator[Case]:
    for name, paths in _each(scenario):
        yield from in_forms("check", f"{scenario}/{name}", ["check", *paths], *_ROWS)
    node = controllers_of(scenario)[0]
    for file in node.files:
        yield from in_forms("check", f"{scenario}/{_name(node)}/{_base(file)}", ["check", file])


def _verifications(scenario: str) -> Iterator[Case]:
    verify = ["log", "verify"]
    for name, paths in _each(scenario):
        yield from in_forms("log-verify", f"{scenario}/{name}", [*verify, *paths], *_ROWS)
        for depth in ("quick", "replay"):
            yield from in_forms("log-verify", f"{scenario}/{name}.{depth}", [*verify, *paths, f"--{depth}"])
    node = controllers_of(scenario)[0]
    for file in node.files:
        yield from in_forms("log-verify", f"{scenario}/{_name(node)}/{_base(file)}", [*verify, file])


def _comparisons(scenario: str) -> Iterator[Case]:
    for name, paths in _each(scenario):
        yield from in_forms("log-diff", f"{scenario}/{name}", ["log", "diff", *paths], *_ROWS)
    other = "stray" if scenario == "basic" else "basic"
    words = ["log", "diff", scenario, other]
    yield from in_forms("log-diff", f"{scenario}/with-another-cluster", words)


def _hashes(scenario: str) -> Iterator[Case]:
    for name, paths in _each(scenario):
        yield from in_forms("log-hash", f"{scenario}/{name}", ["log", "hash", *paths], *_ROWS)
        for offset in (_OFFSET, 300):
            words = ["log", "hash", *paths, "--at", str(offset)]
            yield from in_forms("log-hash", f"{scenario}/{name}.at-{offset}", words)
    node = controllers_of(scenario)[0]
    for file in node.files:
        yield from in_forms("log-hash", f"{scenario}/{_name(node)}/{_base(file)}", ["log", "hash", file])


def _dumps(scenario: str) -> Iterator[Case]:
    for node in nodes_of(scenario):
        yield Case("log-dump", f"{scenario}/{_name(node)}.text", ("log", "dump", node.data))
    for node in (controllers_of(scenario)[0], brokers_of(scenario)[0]):
        words = ["log", "dump", node.path]
        yield from in_forms("log-dump", f"{scenario}/{_name(node)}.whole", words, *_DUMPS)
        yield from in_forms("log-dump", f"{scenario}/{_name(node)}.as-3.9", [*words, "--as", "3.9"])
        for form in BINARY_FORMS:
            yield Case("log-dump", f"{scenario}/{_name(node)}.{form}", (*words, "-o", form))
    words = ["log", "dump", controllers_of(scenario)[0].path]
    facts = FACTS[scenario]
    selections = {
        **_SELECTIONS,
        "topic": ("--topic", facts.topic),
        "times": ("--since", facts.since, "--until", facts.until),
    }
    for name, selection in selections.items():
        yield from in_forms("log-dump", f"{scenario}/{name}", [*words, *selection], "table", "jsonl", "csv")
    yield from in_forms("log-dump", f"{scenario}/all", ["log", "dump", scenario, "--type", "topic"], "table", "json")


_SELECTIONS: Final[dict[str, Sequence[str]]] = {
    "offsets": ("--from", "20", "--to", "60"),
    "epoch": ("--epoch", "1", "--to", "25"),
    "types": ("--type", "PARTITION_CHANGE_RECORD", "--type", "leader_change", "--type", "kraft_voters"),
    "broker": ("--broker", "11"),
    "no-such-type": ("--type", "no_such"),
    "no-such-order": ("--from", "9", "--to", "3"),
}


def _shells(scenario: str) -> Iterator[Case]:
    for node in nodes_of(scenario):
        name = f"{scenario}/{_name(node)}"
        yield from in_forms("shell", f"{name}.tree", ["shell", node.path, "tree"])
        yield from in_forms("shell", f"{name}.hash", ["shell", node.path, "hash"])
    first = [controllers_of(scenario)[0], brokers_of(scenario)[0]]
    for node in first:
        name = f"{scenario}/{_name(node)}"
        topic = ("history", f"/topics/by-name/{FACTS[scenario].topic}")
        for what, words in {**_SHELL, "topic": topic}.items():
            yield from in_forms("shell", f"{name}.{what}", ["shell", node.path, *words])
        many = ["-c", "at 30", "-c", "ls", "-c", "cd /image/topics", "-c", "pwd", "-c", "ls", "-c", "tree byName"]
        yield Case("shell", f"{name}.many.text", ("shell", node.path, *many))
        yield from in_forms("shell", f"{name}.at-30", ["shell", node.path, "--at", "30", "tree", "/image"])
    for file in first[0].files:
        yield from in_forms("shell", f"{scenario}/{_name(first[0])}/{_base(file)}", ["shell", file, "tree"])


_SHELL: Final[dict[str, Sequence[str]]] = {
    "find": ("find", "/"),
    "ls": ("ls", "/", "/image", "/image/*"),
    "cat": ("cat", "/image/features/metadataVersion"),
    "history": ("history", "/image/cluster"),
    "diff": ("diff", "30", "end"),
    "diff-of-all": ("diff", "start", "end"),
    "nowhere": ("cat", "/no/such/path"),
    "help": ("help",),
    "no-such-command": ("frobnicate",),
}


def _features(scenario: str) -> Iterator[Case]:
    names = {**groups(scenario), "node": [controllers_of(scenario)[0].path]}
    for target in _TARGETS:
        for name in ("all", "node", "brokers"):
            words = ["features", "check", *names[name], "--target", target]
            yield from in_forms("features-check", f"{scenario}/{name}.{target}", words, *_ROWS)
    words = ["features", "check", scenario, "--target", "9.9"]
    yield from in_forms("features-check", f"{scenario}/no-such-target", words)


def _timelines(scenario: str) -> Iterator[Case]:
    for name, paths in _each(scenario):
        yield from in_forms("log-timeline", f"{scenario}/{name}", ["log", "timeline", *paths], *_ROWS)
    words = ["log", "timeline", scenario, "--gap", "0.3"]
    yield from in_forms("log-timeline", f"{scenario}/all.small-gaps", words)


def _storage(scenario: str) -> Iterator[Case]:
    audit, controllers = ["storage", "audit"], [node.path for node in controllers_of(scenario)]
    images = [word for path in controllers for word in ("--image", path)]
    for node in nodes_of(scenario):
        name = f"{scenario}/{_name(node)}"
        yield from in_forms("storage-info", name, ["storage", "info", node.path], *_ROWS)
        yield from in_forms("storage-audit", name, [*audit, node.path], *_ROWS)
        if node.is_broker:
            yield from in_forms("storage-audit", f"{name}.image", [*audit, node.path, *images])
            yield from in_forms("storage-audit", f"{name}.problems", [*audit, node.path, *images, "--problems"])
    yield from in_forms("storage-audit", f"{scenario}/all", [*audit, scenario])
    yield from in_forms("storage-info", f"{scenario}/all", ["storage", "info", scenario])
    config = ["storage", "info", "--config", f"{controllers[0]}/server.properties"]
    yield from in_forms("storage-info", f"{scenario}/config", config)


def _base(file: str) -> str:
    return file.rpartition("/")[2]
