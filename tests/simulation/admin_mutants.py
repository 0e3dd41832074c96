"""Planted bugs in administrators' requests: reassignments, growth, ACLs and limits, features, leaving brokers."""

from __future__ import annotations

from typing import Final

from tests.simulation.planting import Mutant

ADMIN_MUTANTS: Final = (
    Mutant(
        name="who has moved away stays in sync",
        module="quorum.controller.partitions.partition_change",
        was="    isr = tuple(replica for replica in target.isr if replica not in target.removing)\n",
        becomes="    isr = target.isr\n",
    ),
    Mutant(
        name="who is fenced may lead",
        module="quorum.controller.leader_changes",
        was="        if broker_id not in active:\n            return False\n        broker, directory",
        becomes="        if broker_id < 0:\n            return False\n        broker, directory",
    ),
    Mutant(
        name="a topic grows over the partitions that it has",
        module="quorum.controller.handlers.create_partitions",
        was="    return partition_records(topic.topic_id, first, partitions)\n",
        becomes="    return partition_records(topic.topic_id, 0, partitions)\n",
    ),
    Mutant(
        name="limits are said to be set and are not",
        module="quorum.controller.handlers.alter_client_quotas",
        was="        records=() if request.validate_only else tuple(records),\n",
        becomes="        records=(),\n",
    ),
    Mutant(
        name="eligible replicas outlive their feature",
        module="quorum.controller.handlers.update_features",
        was="        records += _without_elr(turn)\n",
        becomes="        records += _without_elr(turn)[:0]\n",
    ),
    Mutant(
        name="a broker that is unregistered leads on",
        module="quorum.controller.unregistration",
        was="    records += take_out_of_partitions(turn, broker_id, known)\n",
        becomes="    records += take_out_of_partitions(turn, broker_id, known)[:0]\n",
    ),
)
