"""The longer texts of advice. Must not know: which kind of finding has which advice (`kinds` does).

A text is an `Advice` if a program reads or completes it: its command has a placeholder, or other advice follows it.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

DIRS: Final = "DIR..."
"""The placeholder in a command for all log directories of a broker."""
AUDIT: Final = ("kraft", "storage", "audit", DIRS)


class Advice(msgspec.Struct, frozen=True):
    """Advice: a text, a command, the text after it, and `otherwise`, the advice if that does not help."""

    text: str
    command: tuple[str, ...] = ()
    after: str = ""
    otherwise: Advice | None = None

    def __str__(self) -> str:
        """Return the whole advice as one text."""
        return f"{self.text}{shlex.join(self.command)}{self.after}{self.otherwise or ''}"

    def in_directories(self, paths: Sequence[str]) -> Advice:
        """Return the advice with these log directories in its command, in place of `DIRS`."""
        words = [each for word in self.command for each in (paths if word == DIRS else (word,))]
        return msgspec.structs.replace(self, command=tuple(words))

    def with_other(self, others: Mapping[Advice, Advice]) -> Advice:
        """Return the replacement that `others` has for this advice, or this advice with `otherwise` replaced."""
        if self in others or self.otherwise is None:
            return others.get(self, self)
        return msgspec.structs.replace(self, otherwise=self.otherwise.with_other(others))


def as_advice(said: Advice | str) -> Advice:
    """Return a text as advice without a command; return an Advice unchanged."""
    return Advice(said) if isinstance(said, str) else said


REPLACE: Final = (
    "replace the voter by one with a new directory id (kraft quorum remove-controller, then add-controller), or with "
    "static voters start it empty only while all others run"
)
EMPTIED: Final = Advice(f". A voter's emptied directory has no vote: {REPLACE}")
"""Follows each advice to empty a directory, unless the directory is known to be no voter's (`verify.broker_advice`).

An emptied directory gets a new id, and KIP-853 identifies a voter by its directory id. Its vote is forgotten, too."""
AUDIT_SAYS: Final = Advice(
    "", (*AUDIT, "--image", "CONTROLLER"), " says what to do, and with --quarantine moves it, which --undo undoes"
)
SET_ASIDE: Final = Advice(
    "do not start the broker with it: set it aside (",
    (*AUDIT, "--image", "CONTROLLER", "--quarantine"),
    ", while the broker is stopped; --undo moves it back)",
)
MOVE_OUT: Final = Advice(
    "move it out of the log directory while the broker is stopped (",
    (*AUDIT, "--quarantine", "--to", "ELSEWHERE"),
    " does, and can undo it); a disk's own lost+found comes back: give log.dirs a directory below the mount",
)
RESTORE: Final = Advice(
    "keep the directory as evidence, stop this replica, and let it fetch the log anew into an empty directory from a "
    "quorum whose other replicas are sound; where there is none, kraft recover inspect says what of this can be kept",
    otherwise=EMPTIED,
)
DROP_CHECKPOINT: Final = Advice(
    "kraft recover drop-snapshot takes it away while the node is stopped, where an older whole checkpoint and the log "
    "say the same, or the log alone. Where it refuses: ",
    otherwise=RESTORE,
)
ASIDE_ID: Final = (
    "do not start the broker with it: it reads this file though the directory was set aside, and takes the whole disk "
    "for a failed one. Move the file elsewhere while the broker is stopped: without it the directory is left aside, or "
    "deleted, as before"
)
PARTITION_EPOCHS: Final = (
    "do not start the broker with it: it takes the whole disk for a failed one, or goes by wrong epochs. Restore the "
    "file from a backup of this directory; without one, where other replicas are in sync, move the whole directory out "
    "of log.dirs while the broker is stopped, and it fetches the partition anew. Without this file alone it starts, "
    "too, and no longer knows at which epochs its data parts from a leader's"
)
TORN: Final = (
    "nothing: the next start cuts it off and fetches it again (where a node does not start so, kraft recover truncate "
    "cuts it)"
)
REBUILD: Final = (
    "look whether the other replicas agree with this log (kraft check on all of them); if they do, kraft recover "
    "rebuild-indexes makes the file anew while the node is stopped. It refuses where this file, or an index, proves "
    "that the log was longer"
)
ASK: Final = (
    "restart nothing and keep copies of all replicas; then compare them (kraft log diff says which side a majority "
    "holds, kraft recover inspect what each repair would keep and lose)"
)
TIE: Final = (
    "wipe neither, and start neither: either may be the only one with what was committed. Name more copies of the log, "
    "the other controllers' and brokers', until a majority holds one side (kraft log diff); kraft recover inspect says "
    "what each choice would keep and lose"
)
"""For two sides if nothing shows which is right."""
DISAGREES: Final = Advice(
    "do not restart this node: it loads its newest checkpoint as it starts. See who is right (kraft check over all "
    "replicas, kraft log hash). If the others agree with the log, move the file aside while the node is stopped, if"
    " another whole checkpoint covers the log's start; else let the replica fetch the log anew into an empty "
    "directory",
    otherwise=EMPTIED,
)
WRONG_FIRST: Final = (
    "the later ones are right, and a node that starts loads the newest: let it run. Restore nothing from this one, and "
    "do not read the log from it (kraft shell, kraft snapshot restore); Kafka removes it by itself once it is old"
)
EPOCHS_ENDED: Final = (
    "stop every controller, close their ports to strangers, and reset the epoch of all voters with `kraft recover "
    "epoch` (`kraft docs runbooks/epochs-ended`). A broker or an agent with that epoch ignores every leader: reset its "
    "file, too"
)
"""For a voter's `quorum-state` near the largest possible epoch."""
OBSERVER_ENDED: Final = (
    "stop this node alone, no controller, and reset its file: `kraft recover epoch` (`kraft docs "
    "runbooks/epochs-ended`) with its directory as --dir"
)
"""For an observer's `quorum-state` near the largest possible epoch."""
EPOCHS_IN_LOG: Final = (
    "keep the controllers running, for each change of the leader uses one up. No command lowers the epochs of a log: "
    "`kraft docs runbooks/epochs-ended` says what is left"
)
"""For a log that itself has records near the largest possible epoch."""
KEEP_PROOF: Final = Advice(
    "do not start this node, and remove nothing beside the log, no index either: these files are the proof. Look at "
    "the other replicas first (kraft log diff, kraft recover inspect). Where a majority of them has what is missing "
    "here, move the directory aside, whole, and let the replica fetch the log anew into an empty one. A copy that was "
    "made while the node ran may only hold its files as of different moments: copy again, the *.log files last",
    otherwise=EMPTIED,
)
UNPROVEN_END: Final = (
    "give kraft check the directories of all voters and brokers at once: they may prove that the missing records were "
    "committed. Until then start nothing, and remove nothing beside the log"
)
"""For a producer state file past the log's end, if nothing proves that the missing records were committed."""
RESTORE_FILE: Final = (
    "do not start this node, and do not empty its directory: restore this one file, from a backup of this directory or "
    "by hand; if a newer version wrote it, use software of that version"
)
_WRITER: Final = (
    "restart no controller: one that replays it will stop or go wrong there. See the record (kraft log dump, --from"
    " its offset) and whether the other replicas have it (kraft log diff): where they have not, let this replica "
    "fetch the log anew; where all have it, find out what wrote it, and keep copies of all before anything is "
    "repaired"
)
WRITER: Final = Advice(_WRITER, otherwise=EMPTIED)
NO_CHECKPOINT: Final = Advice(
    "copy the checkpoint back from where it went, or let the replica fetch the log anew", otherwise=EMPTIED
)
OPEN: Final = "let the active controller end it: one that takes over aborts it; judge no topic by this log until then"
COMPRESSED: Final = Advice(
    "find out what wrote it: no controller compresses this log, and nothing here reads what is in it. Look whether the "
    "other replicas have it so (kraft log diff). Where they have not: ",
    otherwise=RESTORE,
)
NEWER: Final = (
    "nothing, if the cluster runs that release. For a verdict on the whole log use a version of this software that "
    "knows it, and start no controller of this version on the log: it stops there"
)
OLDER: Final = (
    "nothing, while the cluster runs that release. Controllers of this software stop at the log: start Apache Kafka "
    "3.3 to 3.9 on it first, and finalise 3.3-IV3 or higher there (kafka-features.sh upgrade)"
)
LEVEL: Final = (
    "compare the finalised level with the software that wrote it (kraft shell, cat /image/features/metadataVersion); "
    "software that knows that level alone stops there, newer goes on"
)
NOTHING: Final = "nothing"
FOREIGN: Final = Advice(
    "find out what wrote it (a controller leaves these fields unset), and look whether the other replicas have it so "
    "(kraft log diff). Where they have not: ",
    otherwise=RESTORE,
)
BAD_NAME: Final = (
    "find out what wrote it: no controller lets such a name pass. Delete the topic by its id before another broker "
    "starts: each replica makes a directory of that name"
)
FALLING: Final = Advice(
    _WRITER + ". Brokers refuse epochs below those that they know: compare with the leader-epoch-checkpoint in the "
    "partition's directories",
    otherwise=EMPTIED,
)
LOOSE_CONFIG: Final = (
    "find out what wrote it, and remove the config: a topic that is created by this name later would have it, and a "
    "controller stops at a broker's whose name is no number"
)
LEFT_CONFIGS: Final = (
    "nothing stops at it, and the node may start. But a topic that is created by such a name has the old configs on "
    "this node, and not on others; and while this node is the active controller, a config that is asked for with the "
    "old value is set nowhere else. Before such a name is used, create a topic of it without configs, wait until every "
    "node has it, and delete it: that takes them away. Where it is in use again, set each of them to some other value "
    "first, and then to what it should be, or delete it: that reaches every node"
)
OLD_LEFT_CONFIGS: Final = "nothing: the node loads its newest checkpoint, and removes older ones by itself"
UNKNOWN_DIRECTORY: Final = (
    "find out what wrote it. While the log says so the controllers take that replica for one on a failed disk, and let "
    "it lead nothing: restart the broker, which reports where the replica really is as it starts, and look again"
)
GAP: Final = (
    "find out what wrote it, and look for the missing record in the other replicas (kraft log diff). Clients and tools "
    "count a topic's partitions from 0: create the topic anew under another name, and move its data"
)
NO_PARTITIONS: Final = (
    "find out what wrote it; nothing can be written to the topic. Delete it by its id, and create it again if it is "
    "wanted"
)
FIRST_EPOCH: Final = Advice(
    _WRITER + ". Brokers refuse epochs below those that they know, and keep this one in the leader-epoch-checkpoint of "
    "the partition's directories",
    otherwise=EMPTIED,
)
OTHER_DISK: Final = (
    "if somebody moved the directory while the broker was down, nothing: as it starts the broker reports where the "
    "replica is. Until then the controllers look at the wrong disk when one fails. If nobody did, look for a copy on "
    "the disk that the log names, and keep both"
)
CLOCK: Final = (
    "nothing for the log: nothing in it goes by the time. Look at the controllers' clocks (NTP), and ask for offsets "
    "rather than times here (--from, --at)"
)
KEEP_DIRECTORY: Final = Advice(
    "move and delete nothing of it, and start no controller: it may be all that is left of what was committed. Look "
    "for more copies of the log, the other controllers' and brokers' (kraft recover inspect says which reaches "
    "furthest); only when the cluster is sound without it, or it is known to be another cluster's, move it out of the "
    "log directory by hand while the broker is stopped: ",
    (*AUDIT, "--quarantine"),
    " leaves it",
)
STRAY_BEYOND: Final = (
    "keep it until nobody wants its data any more: a broker that started, or somebody, set it aside. What a repair let "
    "go looks so, and what came from another cluster; if neither is known, look for more copies of the log (kraft "
    "recover inspect says which reaches furthest)"
)
BROUGHT: Final = (
    "keep its data until it is known where it comes from: most likely somebody copied or renamed it. If so, give it "
    "its own name back or move it out of the log directory while the broker is stopped, which would set it aside "
    "(-stray) as it starts. Else name all controllers and brokers: other copies of the log may go further"
)
BROUGHT_AND_GONE: Final = (
    "do not start the broker: it would set this directory aside (-stray), and make an empty one for what is gone. If "
    "somebody renamed it, give it its own name back while the broker is stopped. Else name all controllers and "
    "brokers, for other copies of the log may go further, and look for what is gone (another disk, a backup)"
)
GONE_DIRECTORY: Final = (
    "do not start the broker: it would make an empty one, and where it leads, or is the last in the ISR, the empty one "
    "is the whole partition. Look where the directory went (another disk, a folder that ends in -stray or -delete, a "
    "backup) and put it back; if it is lost, and other replicas are in sync, let the partition be led by one of these "
    "before the broker starts"
)
QUARANTINED: Final = Advice(
    "nothing is lost: where other replicas are in sync, start the broker, which makes the directory anew and fetches "
    "what is in it. Where none is, or what was moved is wanted again, move it back first, while the broker is "
    "stopped: ",
    (*AUDIT, "--undo"),
)
JOURNAL: Final = (
    "nothing for the broker, which does not read it, and may start. But kraft storage audit --undo cannot go by it: "
    "restore it from a backup of this directory before that; without one look for what was set aside (-stray) yourself"
)
STRANGE_VOTE: Final = (
    "do not start this node: a voter writes the candidate that it votes for as the voter set has it, so that this file "
    "was changed, or is another node's, and the node may vote twice. Restore the file from a backup of this directory; "
    "without one, leave the directory out of the quorum (kraft recover inspect)"
)
FORGOTTEN_VOTE: Final = (
    "do not start this node before it is known who changed the file: it may vote twice. Restore the file from a backup "
    "of this directory; without one, keep the node down until the others are in a later epoch (kraft quorum describe)"
)
SET_BACK: Final = (
    "if the copies were taken at different times, nothing: copy all again while the nodes are down, and check these. "
    "If an older copy of the directory was put back, do not start the node: it may vote twice, and it has forgotten "
    f"commits that it acknowledged. Set the directory aside; {REPLACE}"
)
DENIED_LEADER: Final = Advice(
    "do not start this node. Name the directories of the leader and of all voters: if none of their logs has the "
    "record, move the directory aside as evidence, and let this replica fetch the log into an empty one",
    otherwise=EMPTIED,
)
LEADER_BEHIND: Final = (
    "nothing, if this directory was copied before the other: copy both again while the nodes are down. Otherwise the "
    "leader's log has lost its end: do not start it before the others are compared (kraft log diff)"
)
LEADER_WITHOUT_EPOCH: Final = (
    "if the copies were taken at different times, nothing: copy all again while the nodes are down, and check these. "
    "Else either this file was changed, or the leader's directory was set back to an older copy or lost its end: start "
    "neither of the two before it is known which. Compare with what the other nodes know of that epoch (kraft check on "
    "all of them, kraft recover inspect); restore the one that is wrong from a backup of its directory"
)
STATIC_VOTERS: Final = (
    "compare controller.quorum.voters in the configuration of all nodes: it must be the same. Do not start this node: "
    "with fewer voters it may elect itself. Restore the file from a backup of this directory, or by hand"
)
VOTERS_AT_ONCE: Final = (
    "start and stop nobody before it is known what wrote it: a majority of the voters before and one of those after "
    "need not share a voter, so that both may elect a leader. See the record (kraft log dump, --from its offset) and "
    "who has it (kraft log diff); compare with kraft quorum describe. kraft recover, which replaces several at once on "
    "purpose, writes them with an epoch of its own that nobody voted for, and is not meant here"
)
RESTORE_VOTES: Final = Advice(
    "do not start this replica without this file: its vote and epoch are in it, and it may vote twice. Restore the "
    "file from a backup of this directory; if a newer version wrote it, use software of that version. Where neither is "
    "to be had, look at the other replicas first (kraft log diff, kraft recover inspect); if a majority of them is "
    f"sound, move this directory aside, whole, and {REPLACE}"
)
MAY_VOTE_TWICE: Final = Advice("do not start this replica: it may vote twice")
ACL: Final = (
    "find out what wrote it: a controller gives each entry an id of its own, once. The authorizers of brokers and "
    "controllers that run stop at it and may keep the entry that they had, while those that start anew take the later "
    "one: compare what they enforce (kafka-acls.sh --list), delete the entry and add it again"
)
STRANGE: Final = Advice(
    "find out what wrote it, for no controller does, though all replay it. Look whether the other replicas have it so "
    "(kraft log diff); where they have not, let this replica fetch the log anew. Where all have it, set what it names "
    "again by Kafka's own tools",
    otherwise=EMPTIED,
)
COLLIDES: Final = (
    "find out what wrote it: a controller refuses such a topic, for metrics write a dot as an underscore and count "
    "both as one. Nothing else stumbles; delete one of the two if it is not wanted"
)

RENAME: Final = (
    "do not start this node: it would go on from the wrong offset. Find out who renamed the file; give it its own name "
    "back while the node is stopped, or move it aside if another whole checkpoint covers the log's start"
)
OTHER_TIME: Final = (
    "look whether the other replicas agree with this log (kraft check on all of them): if they do, move the file aside "
    "while the node is stopped, if an older or newer checkpoint is whole"
)
VOTERS_ID: Final = (
    "do not start the node so: it would follow without a vote, and nobody would notice. While it is stopped write "
    "directory.id={directory_id} back into this file, or restore it from a backup of this directory"
)
LOST_PROPERTIES: Final = (
    "if this is a copy of the metadata log alone, nothing. Else look where the file went: the node does not start "
    "without it, and to format the directory would give it another directory.id, with which a voter has no vote. While "
    "the node is stopped restore it from a backup of this directory, or by hand: cluster.id, node.id, and the "
    "directory.id that the log has for it"
)
NO_MAJORITY: Final = (
    "do not start the nodes so: write the directory.id that the log names back into each meta.properties that was "
    "changed, or restore the disks; where those are lost, kraft recover inspect says how the voters are named anew"
)
TWO_LOGS: Final = (
    "find out which one the node used last: on the disk of metadata.log.dir (else the first of log.dirs), and of "
    "a voter that with the directory.id that the log names. Move the other elsewhere while the node is stopped"
)
OFFSETS: Final = (
    "do not start the broker with it: it takes the whole disk for a failed one, or goes on from wrong offsets. Restore "
    "the file from a backup of this directory; without one move it aside while the broker is stopped, which makes it "
    "anew: {lost}"
)
CLEAN_SHUTDOWN: Final = (
    "remove it while the broker is stopped: it then reads its partitions through as after a crash, and its controller "
    "lets it lead only what it has caught up with. Ask who changed it: a broker writes it whole, with its own epoch"
)
UNREAD_BOOTSTRAP: Final = (
    "nothing for the cluster: no start reads this one, only that beside the metadata log. Ask what else the disk has "
    "damaged, and copy the file from there while the node is stopped"
)
PAST_LOG: Final = (
    "nothing, if the data was copied before the file while the broker ran. Otherwise the replica has lost records that "
    "the broker had written: let the partition's other replicas lead (their logs may have them), and ask what else the "
    "disk has lost"
)
EPOCH_AHEAD: Final = (
    "name all controllers and brokers: another copy of the log may go further. If none does, the metadata has lost the "
    "end of its log, or the directory was brought here: keep it, and start no controller before it is known which"
)
STRANGE_FILE: Final = (
    "do not start the node with it: find out who put it there (a copy by hand, a restore, an interrupted tool), and "
    "move it out of the directory while the node is stopped"
)
DISK_ABSENT: Final = (
    "name all log directories of the broker; if none was left out, the disk is not mounted or lost: the broker would "
    "start without these replicas, and fetch them anew from others, if there are others"
)
EXPORT_AGAIN: Final = "export the replica again, unless you changed the copy yourself"
MANIFEST: Final = "copy the manifest back, or export the replica again"
