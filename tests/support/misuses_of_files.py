"""Misuses of the repairs of one log and of sidecar files, and of `undo`, each with the expected refusal.

Decides: what each refusal must say. Must not know: how it is tried.
"""

from __future__ import annotations

from typing import Final

from tests.support.misuses import (
    CLUSTER,
    OTHER_CLUSTER,
    Case,
    backup_damaged,
    damaged,
    exported,
    no_meta,
    ran_since,
    standalone,
    truncate,
    without_snapshot,
)

FILES_MISUSES: Final = (
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
        r"its metadata cannot be read.*from-broker",
    ),
    Case("indexes of a damaged log", lambda b: ["rebuild-indexes", "--dir", damaged(b)], r"is damaged at"),
    Case("indexes that are right", lambda b: ["rebuild-indexes", "--dir", b.node("basic", 1)], r"already"),
    Case(
        "a cluster id that is invalid",
        lambda b: ["cluster-id", "--dir", b.node("basic", 1), "--to", "A" * 22],
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
    Case(
        "repair an export",
        lambda b: ["standalone", "--dir", exported(b), "--missing", "rest"],
        r"is an export \(`kraft log export`\), which no node starts from.*own log directory.*--copy.*from-broker",
    ),
    Case("cut an export", lambda b: truncate(b, exported(b), 83), r"is an export .*name the node's own log directory"),
    Case(
        "drop an export's checkpoint",
        lambda b: ["drop-snapshot", "--dir", exported(b), "--missing", "rest"],
        r"is an export .*name the node's own log directory",
    ),
    Case("indexes for an export", lambda b: ["rebuild-indexes", "--dir", exported(b)], r"is an export "),
    Case(
        "a cluster id for an export",
        lambda b: ["cluster-id", "--dir", exported(b), "--to", OTHER_CLUSTER],
        r"is an export ",
    ),
    Case("undo in an export", lambda b: ["undo", "--dir", exported(b)], r"is an export "),
    Case(
        "an export without a valid manifest",
        lambda b: [*standalone(b, b.node("basic", 2)), "--copy", exported(b, manifest="{")],
        r"manifest.json: it is no manifest of an export",
    ),
    Case("undo nowhere", lambda b: ["undo", "--dir", b.root / "none"], r"does not exist"),
)
