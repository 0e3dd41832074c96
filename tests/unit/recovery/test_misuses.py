"""What `kraft recover` must refuse: each case ends in a sentence that says what to do, and no byte has changed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from quorum.cli.main import run
from tests.support.clusters import unpack_clusters
from tests.support.misuses import (
    CLUSTER,
    HERE,
    NO_WAIT,
    OTHER_CLUSTER,
    Bench,
    appended,
    backup_damaged,
    contents,
    damaged,
    edited,
    empty,
    foreign,
    formatted,
    from_broker,
    lonely_copy,
    made_from_broker,
    newer_record,
    no_meta,
    only_voter,
    ran_since,
    standalone,
    truncate,
    voters,
    with_meta,
    without_snapshot,
)


@pytest.fixture(scope="module")
def clusters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_clusters(tmp_path_factory.mktemp("clusters"))


class Case(msgspec.Struct, frozen=True):
    """A misuse: the words, made on the bench, and what the refusal must say."""

    name: str
    words: Callable[[Bench], list[object]]
    says: str


CASES = [
    Case("no such directory", lambda b: standalone(b, b.root / "none"), r"none does not exist: give a log directory"),
    Case("a file", lambda b: standalone(b, b.file("file")), r"is a file: give the log directory"),
    Case("an empty directory", lambda b: standalone(b, empty(b)), r"is empty|holds no metadata log: give the log"),
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
        r"no copy here of nodes 11,.*--missing 11",
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
        r"it is of version 0.*Restore it",
    ),
    Case(
        "no directory id",
        lambda b: standalone(b, with_meta(b, f"version=1\ncluster.id={CLUSTER}\nnode.id=1\n")),
        r"names no directory\.id",
    ),
    Case(
        "a record of newer software",
        lambda b: standalone(b, appended(b, newer_record)),
        r"unknown metadata record at offset 95.*newer software",
    ),
    Case(
        "damage in the middle",
        lambda b: standalone(b, damaged(b)),
        r"is damaged at .*kraft recover truncate --dir .* --to \d+ --accept-data-loss",
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
    Case("no epoch gap", lambda b: standalone(b, b.node("basic", 1), "--epoch-gap", 0), r"--epoch-gap 0: .*1 or more"),
    Case(
        "too wide an epoch gap",
        lambda b: standalone(b, b.node("basic", 1), "--epoch-gap", 2147483646),
        r"more than an epoch can be \(2147483647\): give less",
    ),
    Case(
        "an endpoint that is none",
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
        "an address that is none",
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
    Case(
        "over a metadata log",
        lambda b: from_broker(b, b.node("basic", 1), *HERE),
        r"holds a metadata log already: .*kraft recover standalone",
    ),
    Case(
        "from a broker once more",
        lambda b: from_broker(b, made_from_broker(b), *HERE),
        r"the result of `kraft recover from-broker` of 20.*: start the controller",
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
    Case("no endpoint", lambda b: from_broker(b, b.root / "new"), r"say where it listens, --endpoint"),
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
        "a voter without its directory",
        lambda b: voters(b, "1@a:1", "2@b:1", "3@c:1", nodes=(1, 2)),
        r"--set 3: there is no --dir of node 3",
    ),
    Case(
        "a voter by id without its directory",
        lambda b: voters(b, "1@a:1", "2@b:1", "3@c:1:ZGlyZWN0b3J5LWlkLTAwMw", nodes=(1, 2)),
        r"voter 3 of --set has no --dir",
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
    Case("a voter that is none", lambda b: voters(b, "one@a:1"), r"write id@host:port"),
    Case("port 0", lambda b: voters(b, "1@a:0"), r"0 is not a port"),
    Case(
        "voters as they are",
        lambda b: ["voters", "--dir", only_voter(b), "--set", "1@127.0.0.1:29101", "--missing", "rest"],
        r"already in all the directories",
    ),
    Case(
        "dynamic voters as static ones",
        lambda b: ["static-voters", "--dir", b.node("basic", 1), "--set", "1@a:1", "--missing", "rest"],
        r"the configuration's are ignored",
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
    Case(
        "cut behind the end",
        lambda b: truncate(b, b.node("basic", 1), 1000),
        r"ends at offset 95 already.*cuts nothing",
    ),
    Case(
        "cut within a batch",
        lambda b: truncate(b, b.node("basic", 1), 90),
        r"no batch that ends at offset 90: the nearest",
    ),
    Case(
        "cut what may be committed",
        lambda b: truncate(b, b.node("basic", 1), 83),
        r"would lose offsets 83 to 95.*--copy",
    ),
    Case(
        "cut below the checkpoint",
        lambda b: truncate(b, b.node("failovers", 1), 208, "--accept-data-loss"),
        r"cannot be cut at 208",
    ),
    Case(
        "drop a whole checkpoint",
        lambda b: ["drop-snapshot", "--dir", b.node("failovers", 1), "--missing", "rest"],
        r"has no damaged checkpoint",
    ),
    Case(
        "drop a whole checkpoint by name",
        lambda b: [
            "drop-snapshot",
            "--dir",
            b.node("failovers", 1),
            "--missing",
            "rest",
            "--checkpoint",
            "00000000000000000244-0000000001.checkpoint",
        ],
        r"is whole, and is not dropped",
    ),
    Case(
        "drop a checkpoint that is not there",
        lambda b: ["drop-snapshot", "--dir", b.node("failovers", 1), "--missing", "rest", "--checkpoint", "x"],
        r"has no checkpoint 'x': it has 0+244",
    ),
    Case(
        "drop the only checkpoint",
        lambda b: ["drop-snapshot", "--dir", without_snapshot(b), "--missing", "rest"],
        r"its metadata cannot be told.*from-broker",
    ),
    Case("indexes of a damaged log", lambda b: ["rebuild-indexes", "--dir", damaged(b)], r"is damaged at"),
    Case("indexes that are right", lambda b: ["rebuild-indexes", "--dir", b.node("basic", 1)], r"already"),
    Case(
        "a cluster id that is none",
        lambda b: ["cluster-id", "--dir", b.node("basic", 1), "--to", "mine"],
        r"kraft storage random-uuid",
    ),
    Case(
        "the cluster id that it has",
        lambda b: ["cluster-id", "--dir", b.node("basic", 1), "--to", CLUSTER],
        r"of cluster .* already",
    ),
    Case(
        "a cluster id for nothing",
        lambda b: ["cluster-id", "--dir", no_meta(b), "--to", OTHER_CLUSTER],
        r"only a formatted log directory has a cluster id",
    ),
    Case("nothing to undo", lambda b: ["undo", "--dir", b.node("basic", 1)], r"holds no repair of .*say --work"),
    Case("undo after the node has run", lambda b: ["undo", "--dir", ran_since(b)], r"a node has run since.*backup"),
    Case(
        "undo from a damaged backup", lambda b: ["undo", "--dir", backup_damaged(b)], r"missing or damaged.*Nothing was"
    ),
    Case("undo nowhere", lambda b: ["undo", "--dir", b.root / "none"], r"does not exist"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_misuse_is_refused_and_changes_nothing(
    case: Case, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*map(str, ["recover", *case.words(Bench(clusters, tmp_path)), "--apply"])]
    if words[1] not in ("undo", "rebuild-indexes"):
        words += NO_WAIT
    before = contents(tmp_path)
    capsys.readouterr()
    assert run(words) in (1, 2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("kraft: ")
    assert re.search(case.says, said.err.replace("\n", " ")), said.err
    assert contents(tmp_path) == before


def test_there_are_enough_of_them() -> None:
    assert len({case.name for case in CASES}) >= 40
