"""What one replica's batches must be, one after the other: computed in Spark, by windows over each chain of batches.

Decides: which rows break which rule. Must not know: other replicas, and the words for what is found.

A chain is the segments of one replica, or one checkpoint. One window holds a whole chain: batches are few (a record of
a metadata log costs about 70 bytes, retention keeps the log near 100 MB), records would be too many.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

NO_TIME: Final = -1


def epoch_spans(batches: DataFrame) -> DataFrame:
    """A row for each chain and epoch: its offsets, leaders, voters, times and sizes. Few rows however long the log."""
    return (
        batches.where(F.col("fault").isNull())
        .groupBy("replica", "is_checkpoint", _chain().alias("chain"), "epoch")
        .agg(
            F.min("base_offset").alias("start_offset"),
            (F.max("last_offset") + 1).alias("end_offset"),
            F.count("*").alias("batches"),
            F.sum("records").alias("records"),
            F.sum("size").alias("bytes"),
            F.coalesce(F.min(F.when(_has_time(), F.col("timestamp_ms"))), F.lit(NO_TIME)).alias("first_ms"),
            F.coalesce(F.max(F.when(_has_time(), F.col("timestamp_ms"))), F.lit(NO_TIME)).alias("last_ms"),
            F.collect_set(F.when(F.col("leader_id").isNotNull(), F.struct("base_offset", "leader_id", "file"))).alias(
                "leaders"
            ),
            F.max(F.when(F.col("voters").isNotNull(), F.struct("base_offset", "voters"))).alias("voters"),
            F.max(F.when(F.col("electors").isNotNull(), F.struct("base_offset", "electors"))).alias("electors"),
        )
    )


def broken_rules(batches: DataFrame) -> DataFrame:
    """The rows that break a rule, with the array `kinds` of the rules and what was expected there."""
    chain = Window.partitionBy("replica", "is_checkpoint", _chain()).orderBy("file_base", "position")
    before = chain.rowsBetween(Window.unboundedPreceding, -1)
    due = F.coalesce(
        F.last("last_offset", ignorenulls=True).over(before) + 1,
        F.when(F.col("is_checkpoint"), F.lit(0)).otherwise(F.col("file_base")),
    )
    placed = batches.select(
        "*",
        due.alias("due"),
        F.max("epoch").over(before).alias("epoch_before"),
        F.coalesce(F.lag(F.col("fault").isNotNull()).over(chain), F.lit(False)).alias("after_damage"),
        F.lead("position").over(chain).isNull().alias("is_last"),
        (F.col("base_offset") == 0).alias("is_first"),
        (
            (F.col("epoch") > 0)
            & (F.lead("epoch").over(chain) >= F.col("epoch"))
            & F.lead("leader_id").over(chain).isNotNull()
        ).alias("leads_next"),
    )
    kinds = F.array_compact(F.array(*(F.when(rule, F.lit(name)) for name, rule in _rules().items())))
    return placed.withColumn("kinds", kinds).where(F.size("kinds") > 0)


def _has_time() -> Column:
    """Return True for batches that carry a time: Kafka writes -1 for none, and 0 is 1970."""
    return F.col("timestamp_ms") > 0


def _chain() -> Column:
    return F.when(F.col("is_checkpoint"), F.col("file_base")).otherwise(F.lit(-1))


def _rules() -> dict[str, Column]:
    """Each rule's breach. What damage has swallowed is neither a gap nor a missing LeaderChange of its own."""
    sound = F.col("fault").isNull()
    in_log = sound & ~F.col("is_checkpoint")
    starts_epoch = (F.col("epoch") > F.col("epoch_before")) | (
        F.col("epoch_before").isNull() & (F.col("base_offset") == 0)
    )
    is_led = F.col("leader_id").isNotNull() | (F.col("is_first") & (F.col("is_last") | F.col("leads_next")))
    return {
        "corrupt_batch": F.col("fault") == "corrupt",
        "torn_tail": (F.col("fault") == "torn") & ~F.col("is_checkpoint"),
        "unsupported_batch": F.col("fault") == "unsupported",
        "unreadable_record": sound & F.col("detail").isNotNull(),
        "offset_gap": sound & (F.col("base_offset") > F.col("due")) & ~F.col("after_damage"),
        "offset_repeated": sound & (F.col("base_offset") < F.col("due")),
        "epoch_went_back": in_log & (F.col("epoch") < F.col("epoch_before")),
        "epoch_without_leader": in_log & starts_epoch & ~is_led & ~F.col("after_damage"),
        "checkpoint_incomplete": F.col("is_checkpoint") & F.col("is_last") & ~F.col("is_footer"),
    }


def conflicts(batches: DataFrame) -> DataFrame:
    """Where replicas hold different batches at one base offset: a row for each way in which they divide.

    `variants` holds, for each batch, its epoch and the replicas that have it, as bits; `offset` is the first base
    offset at which they divide like that, `count` at how many of them. `places` says where the first of each variant's
    replicas has the batch at `offset`, and its time. Followers append a leader's batches unchanged, so that comparing
    batches compares records.
    """
    place = F.struct("replica", "file", "position", "timestamp_ms")

    def variant(side: Column) -> Column:
        return F.struct(side["epoch"].alias("epoch"), side["holders"].alias("holders"))

    held = (
        batches.where(F.col("fault").isNull() & ~F.col("is_checkpoint"))
        .groupBy("base_offset", "epoch", "digest")
        .agg(F.expr("bit_or(shiftleft(1L, replica))").alias("holders"), F.min(place).alias("place"))
    )
    divided = (
        held.groupBy("base_offset")
        .agg(F.sort_array(F.collect_list(F.struct("epoch", "holders", "place"))).alias("held"))
        .where(F.size("held") > 1)
        .select("base_offset", F.transform("held", variant).alias("variants"), F.col("held.place").alias("places"))
    )
    return divided.groupBy("variants").agg(
        F.min("base_offset").alias("offset"),
        F.count("*").alias("count"),
        F.min_by("places", "base_offset").alias("places"),
    )


def progress(batches: DataFrame, *, first_ms: int, bucket_ms: int) -> DataFrame:
    """How far each replica's log had come, and in which epoch, by the time in its batches, where they have one."""
    bucket = ((F.col("timestamp_ms") - F.lit(first_ms)) / F.lit(bucket_ms)).cast("bigint")
    return (
        batches.where(F.col("fault").isNull() & ~F.col("is_checkpoint") & _has_time())
        .groupBy("replica", bucket.alias("bucket"), "epoch")
        .agg(F.max("timestamp_ms").alias("at_ms"), (F.max("last_offset") + 1).alias("end_offset"))
    )
