"""Every kind of planted damage, by the module that plants it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tests.support.damage import Damage
from tests.support.damage_access import ACCESS_DAMAGE
from tests.support.damage_beside import BESIDE_DAMAGE
from tests.support.damage_checkpoint import CHECKPOINT_DAMAGE
from tests.support.damage_control import CONTROL_DAMAGE
from tests.support.damage_files import FILE_DAMAGE
from tests.support.damage_log import LOG_DAMAGE
from tests.support.damage_partitions import PARTITION_DAMAGE
from tests.support.damage_quorum import QUORUM_DAMAGE
from tests.support.damage_reach import REACH_DAMAGE
from tests.support.damage_records import RECORD_DAMAGE
from tests.support.damage_small_files import SMALL_FILE_DAMAGE
from tests.support.damage_times import TIME_DAMAGE
from tests.support.damage_topics import TOPIC_DAMAGE
from tests.support.damage_values import VALUE_DAMAGE
from tests.support.damage_voters import VOTER_DAMAGE

DAMAGE: Final[Mapping[str, Sequence[Damage]]] = {
    "log": LOG_DAMAGE,
    "records": RECORD_DAMAGE,
    "files": FILE_DAMAGE,
    "checkpoint": CHECKPOINT_DAMAGE,
    "control": CONTROL_DAMAGE,
    "reach": REACH_DAMAGE,
    "beside": BESIDE_DAMAGE,
    "small_files": SMALL_FILE_DAMAGE,
    "times": TIME_DAMAGE,
    "topics": TOPIC_DAMAGE,
    "values": VALUE_DAMAGE,
    "partitions": PARTITION_DAMAGE,
    "voters": VOTER_DAMAGE,
    "quorum": QUORUM_DAMAGE,
    "access": ACCESS_DAMAGE,
}
ALL_DAMAGE: Final = [damage for kinds in DAMAGE.values() for damage in kinds]
