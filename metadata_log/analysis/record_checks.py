"""What the metadata records of a replica must be: computed in Spark, by a window over the life of each topic id.

Decides: which records break which rule. Must not know: the words for what is found.

A log that starts at offset 0 is judged from there; one that starts later, from the oldest checkpoint that covers its
start. What follows the first damage or gap is not judged: the records that are lost would make others look wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from typing import Final

import msgspec
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from metadata_log.ids import RESERVED_TOPIC_IDS, id_text

_RESERVED: Final = tuple(sorted(map(id_text, RESERVED_TOPIC_IDS)))
CREATES: Final = "Topic"
REMOVES: Final = "RemoveTopic"
_USES: Final = ("Partition", "PartitionChange", REMOVES)


def counts(records: DataFrame) -> DataFrame:
    """How many records of each type each file holds, and the first of them; a `fault` where they do not decode.

    `newer`: the part of a later release that they are.
    """
    return records.groupBy("replica", "file", "is_checkpoint", "type", "fault", "newer").agg(
        F.min(F.struct("offset", "epoch")).alias("first"), F.count("*").alias("count")
    )


def topic_events(records: DataFrame, *, replica: int, first_ms: int, bucket_ms: int) -> DataFrame:
    """The topics that a replica's log creates and deletes, by time: how many, and the first and the last of them."""
    bucket = ((F.col("timestamp_ms") - F.lit(first_ms)) / F.lit(bucket_ms)).cast("bigint")
    topic = F.struct("offset", "timestamp_ms", "name")
    return (
        records.where(
            (F.col("replica") == replica)
            & ~F.col("is_checkpoint")
            & F.col("type").isin(CREATES, REMOVES)
            & (F.col("timestamp_ms") > 0)
        )
        .groupBy("type", bucket.alias("bucket"))
        .agg(F.count("*").alias("count"), F.min(topic).alias("first"), F.max(topic).alias("last"))
    )


def broken_topics(records: DataFrame, ranges: Sequence[Range]) -> DataFrame:
    """For each replica, topic id and broken rule: the first record that breaks it, how many do, and who had the id."""
    judged = records.where(F.col("topic_id").isNotNull() & reduce(or_, map(_within, ranges)))
    life = Window.partitionBy("replica", "topic_id").orderBy(F.col("is_checkpoint").desc(), "offset")
    before = life.rowsBetween(Window.unboundedPreceding, -1)
    creates, removes = F.col("type") == CREATES, F.col("type") == REMOVES
    seen = judged.select(
        "*",
        F.last(F.when(creates | removes, creates), ignorenulls=True).over(before).alias("alive"),
        F.last(F.when(creates, F.struct("offset", "name", "is_checkpoint")), ignorenulls=True)
        .over(before)
        .alias("made"),
    )
    alive = F.coalesce(F.col("alive"), F.lit(False))
    kinds = F.array_compact(
        F.array(
            F.when(creates & F.col("topic_id").isin(*_RESERVED), F.lit("topic_id_reserved")),
            F.when(creates & F.col("made").isNotNull(), F.lit("topic_id_reused")),
            F.when(F.col("type").isin(*_USES) & ~alive, F.lit("unknown_topic")),
        )
    )
    columns = ("is_checkpoint", "offset", "epoch", "file", "type", "name", "partition", "made")
    order = F.struct((~F.col("is_checkpoint")).alias("in_log"), "offset")
    return (
        seen.withColumn("kind", F.explode(kinds))
        .groupBy("replica", "kind", "topic_id")
        .agg(F.min_by(F.struct(*columns), order).alias("first"), F.count("*").alias("count"))
    )


def _within(judged: Range) -> Column:
    in_log = ~F.col("is_checkpoint") & (F.col("offset") >= judged.start)
    if judged.end is not None:
        in_log = in_log & (F.col("offset") < judged.end)
    if judged.checkpoint is not None:
        in_log = in_log | (F.col("is_checkpoint") & (F.col("file") == judged.checkpoint))
    return (F.col("replica") == judged.replica) & in_log


class Range(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Records from `start` to `end` (exclusive) of a replica, upon the checkpoint that ends at `start`.

    `checkpoint` is its file, or None where the log starts at offset 0; `end` None is the log's end.
    """

    replica: int
    start: int
    end: int | None
    checkpoint: str | None
