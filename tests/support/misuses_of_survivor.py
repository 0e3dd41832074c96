"""Misuses of `kraft recover standalone`: wrong directories, missing copies, other clusters, damage.

Decides: what each refusal must say. Must not know: how it is tried.
"""

from __future__ import annotations

from typing import Final

from tests.support.misuses import (
    CLUSTER,
    HERE,
    OTHER_CLUSTER,
    Case,
    damaged,
    edited,
    empty,
    foreign,
    linked,
    no_meta,
    only_voter,
    standalone,
    with_meta,
    with_topic,
    without_snapshot,
)

SURVIVOR_MISUSES: Final = (
    Case("no such directory", lambda b: standalone(b, b.root / "none"), r"none does not exist: give a log directory"),
    Case(
        "a partition.metadata of no version",
        lambda b: standalone(b, with_topic(b, "version: -1\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")),
        r"partition\.metadata: its first line names no version: 'version: -1'.*move that file away",
    ),
    Case(
        "a partition.metadata that says nothing",
        lambda b: standalone(b, with_topic(b, "rubbish")),
        r"partition\.metadata: line 1 is not a name, a colon, .*move that file away",
    ),
    Case(
        "another topic's partition.metadata",
        lambda b: [
            *("voters", "--dir", with_topic(b, "version: 0\ntopic_id: IMUUwEYIS5iVUTC3I4546w")),
            *("--set", "1@a:1", "--missing", "rest"),
        ],
        r"it names topic id IMUUwEYIS5iVUTC3I4546w; the metadata log's is the sentinel A{21}Q.*move that file",
    ),
    Case(
        "one directory by two paths",
        lambda b: standalone(b, linked(b, b.node("basic", 1)), "--copy", b.node("basic", 1)),
        r"basic-1 and .*link are one directory: name each copy once",
    ),
    Case(
        "a new directory that is the broker's by another path",
        lambda b: [
            *("from-broker", "--broker-dir", b.node("basic", 11), "--missing", "rest", "--node-id", 1, *HERE),
            *("--dir", linked(b, b.node("basic", 11)) / "new"),
        ],
        r"lie in each other: name a new directory",
    ),
    Case(
        "a cloned directory by two paths",
        lambda b: [
            *("cluster-id", "--dir", b.node("basic", 1), "--dir", linked(b, b.node("basic", 1))),
            *("--to", OTHER_CLUSTER),
        ],
        r"named twice: name each once|is locked",
    ),
    Case("a file", lambda b: standalone(b, b.file("file")), r"is a file: give the log directory"),
    Case("an empty directory", lambda b: standalone(b, empty(b)), r"is empty|holds no metadata log: give the log"),
    Case("a running node", lambda b: standalone(b, b.running("basic", 1)), r"is locked: another process.*Stop it"),
    Case(
        "the parent of several",
        lambda b: [(b.node("basic", 1), b.node("basic", 2)), *standalone(b, b.root)][1:],
        r"holds several log directories .*: name the one",
    ),
    Case(
        "a broker",
        lambda b: standalone(b, b.node("basic", 11)),
        r"is a broker's directory: .*kraft recover from-broker",
    ),
    Case(
        "a broker, with an address",
        lambda b: standalone(b, b.node("basic", 11), *HERE),
        r"is a broker's directory: .*kraft recover from-broker",
    ),
    Case(
        "a controller that is no voter",
        lambda b: standalone(b, b.node("dynamic-voters", 1)),
        r"is no voter \(those are [234, ]+\).*--endpoint",
    ),
    Case(
        "a broker as a voter",
        lambda b: ["voters", "--dir", b.node("basic", 11), "--set", "11@a:1", "--missing", "rest"],
        r"is a broker's directory",
    ),
    Case("static voters", lambda b: standalone(b, b.node("static-3.9", 2)), r"kraft recover static-voters"),
    Case(
        "another cluster's copy",
        lambda b: standalone(b, b.node("basic", 1), "--copy", foreign(b)),
        r"are of several clusters: .*Name copies of",
    ),
    Case(
        "the same copy twice",
        lambda b: standalone(b, b.node("basic", 1), "--copy", b.node("basic", 1)),
        r"is named twice: name each copy once",
    ),
    Case(
        "no word about the missing",
        lambda b: ["standalone", "--dir", b.node("basic", 1)],
        r"no copy here of nodes 2,3,11,12.*--missing 2,3,11,12",
    ),
    Case(
        "half the copies",
        lambda b: ["standalone", "--dir", b.node("basic", 1), "--copy", b.node("basic", 12), "--missing", "2,3"],
        r"no copy here of node 11: it .* Name its log directory .* if it is gone for good, add --missing 2,3,11",
    ),
    Case(
        "missing, but named",
        lambda b: ["standalone", "--dir", b.node("basic", 1), "--missing", "1,2,3,11,12"],
        r"--missing 1: a copy of node 1 is named",
    ),
    Case(
        "missing that is no number",
        lambda b: ["standalone", "--dir", b.node("basic", 1), "--missing", "two"],
        r"--missing 'two': write node ids",
    ),
    Case(
        "a sound majority",
        lambda b: standalone(b, b.node("basic", 1), "--copy", b.node("basic", 2)),
        r"voters .* are here and sound, a majority of 3: start them",
    ),
    Case("the only voter already", lambda b: standalone(b, only_voter(b)), r"the only voter already: start it"),
    Case("no meta.properties", lambda b: standalone(b, no_meta(b)), r"has no meta\.properties.*Restore it"),
    Case("a broken meta.properties", lambda b: standalone(b, with_meta(b, "version=1\n")), r"it has no .*Restore it"),
    Case(
        "ZooKeeper's meta.properties",
        lambda b: standalone(b, with_meta(b, "version=0\nbroker.id=1\n")),
        r"it has no cluster.id.*Restore it",
    ),
    Case(
        "a newer meta.properties",
        lambda b: standalone(b, with_meta(b, f"version=2\ncluster.id={CLUSTER}\nnode.id=1\n")),
        r"it is of version 2.*use a newer kraft, and start no older software on this directory",
    ),
    Case(
        "no directory id",
        lambda b: standalone(b, with_meta(b, f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n")),
        r"names no directory\.id",
    ),
    Case(
        "damage in the middle",
        lambda b: standalone(b, damaged(b)),
        r"is damaged at .*kraft recover truncate --dir .* --to \d+ --missing 2,3,11,12 --accept-data-loss",
    ),
    Case(
        "no whole checkpoint", lambda b: standalone(b, without_snapshot(b)), r"no whole checkpoint.*Take another copy"
    ),
    Case(
        "a log changed by hand",
        lambda b: standalone(b, b.node("basic", 1), "--copy", edited(b)),
        r"hold other bytes .*changed by hand.*kraft log diff",
    ),
    Case(
        "a broker that is ahead",
        lambda b: standalone(b, b.node("every-record", 2), "--copy", b.node("every-record", 11)),
        r"would lose offsets 344 to 368 on node 11.*say --accept-data-loss",
    ),
    Case("no epoch gap", lambda b: standalone(b, b.node("basic", 1), "--epoch-gap", 0), r"gap 0: .*1000 or more"),
    Case(
        "too wide an epoch gap",
        lambda b: standalone(b, b.node("basic", 1), "--epoch-gap", 2147483646),
        r"more than an epoch can be \(2147483647\): give 2147483645 at most",
    ),
    Case(
        "an endpoint that is invalid",
        lambda b: standalone(b, b.node("basic", 1), "--endpoint", "localhost:1"),
        r"write LISTENER://HOST:PORT",
    ),
    Case(
        "an endpoint of another listener",
        lambda b: standalone(b, b.node("basic", 1), "--endpoint", "CONTROLER://localhost:1"),
        r"look for a controller's listener CONTROLLER.*name that one",
    ),
    Case(
        "two directories for one repair",
        lambda b: standalone(b, b.node("basic", 1), "--dir", b.node("basic", 2)),
        r"--dir is given 2 times.*name one",
    ),
    Case("a listener named twice", lambda b: standalone(b, b.node("basic", 1), *HERE, *HERE), r"is named twice"),
    Case(
        "an address that is invalid",
        lambda b: standalone(b, b.node("basic", 1), "--bootstrap-controller", "here"),
        r"'here' is no HOST:PORT",
    ),
    Case(
        "a place for backups that is a file",
        lambda b: standalone(b, b.node("basic", 1), "--work", b.file("work")),
        r"work.*Nothing was changed in .*--work names another place",
    ),
    Case(
        "a place for backups in the log directory",
        lambda b: standalone(b, b.node("basic", 1), "--work", b.node("basic", 1) / "backup" / "here"),
        r"lies in the log directory .*basic-1, .*name a place outside",
    ),
    Case(
        "a place for backups in another log directory",
        lambda b: standalone(b, b.node("basic", 1), "--work", b.node("basic", 11)),
        r"lies in the log directory .*basic-11, .*name a place outside",
    ),
)
