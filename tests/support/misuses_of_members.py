"""Misuses of `kraft recover from-broker`, `voters` and `static-voters`: wrong targets, ids, addresses.

Decides: what each refusal must say. Must not know: how it is tried.
"""

from __future__ import annotations

from typing import Final

from tests.support.misuses import (
    CLUSTER,
    HERE,
    OTHER_CLUSTER,
    Case,
    exported,
    formatted,
    from_broker,
    lonely_copy,
    made_from_broker,
    only_voter,
    standalone,
    voters,
)

MEMBERS_MISUSES: Final = (
    Case(
        "over a metadata log",
        lambda b: from_broker(b, b.node("basic", 1), *HERE),
        r"holds a metadata log already: .*kraft recover standalone",
    ),
    Case(
        "from a broker again",
        lambda b: from_broker(b, made_from_broker(b), *HERE),
        r"the result of `kraft recover from-broker` of 20.*: start the controller",
    ),
    Case(
        "into an export",
        lambda b: from_broker(b, exported(b), *HERE),
        r"not empty and not formatted: name a new",
    ),
    Case(
        "voters of an export",
        lambda b: ["voters", "--dir", exported(b), "--set", "1@h:1", "--missing", "rest"],
        r"is an export ",
    ),
    Case(
        "static voters of an export",
        lambda b: ["static-voters", "--dir", exported(b), "--set", "1@h:1", "--missing", "rest"],
        r"is an export ",
    ),
    Case(
        "into a directory in use",
        lambda b: from_broker(b, b.file("busy/notes").parent, *HERE),
        r"not empty and not formatted: name a new",
    ),
    Case(
        "formatted for another cluster",
        lambda b: from_broker(b, formatted(b, OTHER_CLUSTER, 1), *HERE),
        f"belongs to cluster {OTHER_CLUSTER}, not to {CLUSTER}",
    ),
    Case("formatted for another node", lambda b: from_broker(b, formatted(b, CLUSTER, 2), *HERE), r"belongs to node 2"),
    Case(
        "a broker's id",
        lambda b: from_broker(b, b.root / "new", *HERE, node_id=12),
        r"--node-id 12 is a broker's: give the id of a lost controller, one of 1, 2, 3",
    ),
    Case("no endpoint", lambda b: from_broker(b, b.root / "new"), r"Give its listener: --endpoint"),
    Case(
        "another listener",
        lambda b: from_broker(b, b.root / "new", "--endpoint", "PLAINTEXT://localhost:1"),
        r"brokers look for a controller's listener CONTROLLER",
    ),
    Case(
        "into the broker's own directory",
        lambda b: from_broker(b, b.node("basic", 11) / "new", *HERE),
        r"lie in each other: name a new directory",
    ),
    Case(
        "a metadata log alone",
        lambda b: [
            "from-broker",
            "--broker-dir",
            lonely_copy(b),
            "--dir",
            b.root / "new",
            "--node-id",
            1,
            "--missing",
            "rest",
            *HERE,
        ],
        r"name the whole log directory",
    ),
    Case("a file for the new directory", lambda b: from_broker(b, b.file("file"), *HERE), r"is a file"),
    Case(
        "controllers that could start",
        lambda b: from_broker(b, b.root / "new", "--copy", b.node("basic", 1), "--copy", b.node("basic", 2), *HERE),
        r"here and sound",
    ),
    Case(
        "a copy that is ahead",
        lambda b: from_broker(b, b.root / "new", "--copy", b.node("basic", 12), *HERE),
        r"would lose offsets 83 to 95 on node 12.*name it with --broker-dir",
    ),
    Case(
        "one of three that runs",
        lambda b: [(b.running("basic", 2),), *voters(b, "1@a:1", "2@b:1", "3@c:1")][1:],
        r"basic-2/\.lock is locked: another process.*Stop it",
    ),
    Case(
        "a voter without its directory",
        lambda b: voters(b, "1@a:1", "2@b:1", "3@c:1", nodes=(1, 2)),
        r"--set 3: no --dir is of node 3",
    ),
    Case(
        "a voter by id without its directory",
        lambda b: voters(b, "1@a:1", "2@b:1", "3@c:1:ZGlyZWN0b3J5LWlkLTAwMw", nodes=(1, 2)),
        r"voter 3 of --set has no --dir",
    ),
    Case(
        "a second quorum beside a sound majority",
        lambda b: [*voters(b, "1@a:1", nodes=(1,)), "--copy", b.node("basic", 2), "--copy", b.node("basic", 3)],
        r"voters (2, 3|3, 2) are here and sound, a majority of 3, and no --dir.*a second quorum.*--set",
    ),
    Case(
        "a directory that is to have no vote", lambda b: voters(b, "1@a:1", "2@b:1"), r"is not among --set: name node 3"
    ),
    Case(
        "another directory's id",
        lambda b: voters(b, "1@a:1:ZGlyZWN0b3J5LWlkLTAwMg", nodes=(1,)),
        r"gives node 1 the directory id ZGlyZWN0b3J5LWlkLTAwMg, but that of",
    ),
    Case("two voters at one address", lambda b: voters(b, "1@a:1", "2@a:1", nodes=(1, 2)), r"a:1 is named twice"),
    Case("one voter twice", lambda b: voters(b, "1@a:1", "1@b:1", nodes=(1,)), r"voter 1 is named 2 times"),
    Case("a voter that is invalid", lambda b: voters(b, "one@a:1"), r"write id@host:port"),
    Case("a voter everywhere", lambda b: voters(b, "1@0.0.0.0:1"), r"'1@0\.0\.0\.0:1': 0\.0\.0\.0 means every address"),
    Case("a voter everywhere by IPv6", lambda b: voters(b, "1@[::]:1"), r":: means every address.*Name the host"),
    Case("a voter at no name of a host", lambda b: voters(b, "1@a..b:1"), r"'a\.\.b' is no name of a host"),
    Case(
        "a listener at no name of a host",
        lambda b: standalone(b, b.node("basic", 1), "--endpoint", f"CONTROLLER://{'a' * 64}:1"),
        r"is no name of a host: it has an empty part, or one of more than 63 characters",
    ),
    Case(
        "a controller at no name of a host",
        lambda b: standalone(b, b.node("basic", 1), "--bootstrap-controller", "c1:9093,.b:9093"),
        r"--bootstrap-controller '\.b:9093' is no HOST:PORT",
    ),
    Case("a voter nowhere", lambda b: voters(b, "1@:1"), r"an empty host means every address"),
    Case(
        "a static voter everywhere",
        lambda b: ["static-voters", "--dir", b.node("static-3.9", 2), "--set", "2@0.0.0.0:1", "--missing", "rest"],
        r"0\.0\.0\.0 means every address",
    ),
    Case(
        "a survivor everywhere",
        lambda b: [
            "standalone",
            "--dir",
            b.node("basic", 1),
            "--missing",
            "rest",
            "--endpoint",
            "CONTROLLER://[0:0::]:1",
        ],
        r"--endpoint .*0:0:: means every address.*no other node can reach it",
    ),
    Case(
        "a new controller nowhere",
        lambda b: from_broker(b, b.root / "new", "--endpoint", "CONTROLLER://:1"),
        r"--endpoint .*an empty host means every address",
    ),
    Case("port 0", lambda b: voters(b, "1@a:0"), r"0 is not a port"),
    Case(
        "voters as they are",
        lambda b: ["voters", "--dir", only_voter(b), "--set", "1@127.0.0.1:29101", "--missing", "rest"],
        r"already in all the directories",
    ),
    Case(
        "dynamic voters as static ones",
        lambda b: ["static-voters", "--dir", b.node("basic", 1), "--set", "1@a:1", "--missing", "rest"],
        r"those of the configuration are ignored",
    ),
    Case(
        "static voters without directories",
        lambda b: [
            "static-voters",
            "--dir",
            b.node("static-3.9", 2),
            "--set",
            "2@a:1",
            "--set",
            "3@b:1",
            "--missing",
            "rest",
        ],
        r"voter 3 of --set has no --dir",
    ),
)
