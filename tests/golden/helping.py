"""Cases of `--help`: the command, every group, every subcommand; and what a wrong word is answered with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tests.golden.cases import Case

_COMMANDS: Final = {
    "demo": "",
    "dev": "",
    "storage": "audit feature-dependencies format info random-uuid version-mapping",
    "controller": "start",
    "agent": "describe release start verify",
    "topics": "alter create delete describe list",
    "cluster": "id",
    "brokers": "describe list",
    "configs": "alter describe",
    "quorum": "add-controller describe health remove-controller transfer unregister-controller",
    "check": "",
    "log": "diff dump export hash timeline verify",
    "shell": "",
    "features": "check describe disable downgrade upgrade",
    "snapshot": "restore save status",
    "recover": "cluster-id drop-snapshot epoch from-broker inspect rebuild-indexes standalone static-voters truncate "
    "undo verify voters",
    "analyze": "",
    "docs": "",
}


def help_cases() -> Iterator[Case]:
    """Yield the cases."""
    for words in (
        [],
        *([name, *one] for name, ones in _COMMANDS.items() for one in ([], *map(str.split, ones.split()))),
    ):
        yield Case("help", "-".join(["kraft", *words]), (*words, "--help"))
        yield Case("help", "-".join(["kraft", *words, "no-such-option"]), (*words, "--no-such-option"))
    for name, subcommands in _COMMANDS.items():
        if subcommands:
            yield Case("help", f"kraft-{name}-no-such-command", (name, "no-such-command"))
            yield Case("help", f"kraft-{name}-nothing", (name,))
    yield Case("help", "kraft-nothing", ())
    yield Case("help", "kraft-no-such-command", ("no-such-command",))
    yield Case("help", "kraft-an-empty-word", ("check", ""))
    yield Case("help", "kraft-version", ("--version",))


def subcommands() -> dict[str, list[str]]:
    """Return the subcommands by command, for the test that none is left out."""
    return {name: words.split() for name, words in _COMMANDS.items()}
