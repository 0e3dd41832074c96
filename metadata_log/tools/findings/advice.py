"""The longer texts of advice. Must not know: which kind of finding has which advice (`kinds` does).

A text is an `Advice` if a program reads or completes it: its command has a placeholder, or other advice follows it.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.tools.findings.remedy import DIRS, Advice, no_start

AUDIT: Final = ("kraft", "storage", "audit", DIRS)


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
SET_ASIDE: Final = no_start(
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
    "keep the directory as evidence, stop this replica, and let it fetch the log again into an empty directory from a "
    "quorum whose other replicas are sound; without one, kraft recover inspect says what of this can be kept",
    otherwise=EMPTIED,
)
DROP_CHECKPOINT: Final = Advice(
    "kraft recover drop-snapshot takes it away while the node is stopped, where an older whole checkpoint and the log "
    "say the same, or the log alone. Where it refuses: ",
    otherwise=RESTORE,
)
TORN: Final = (
    "nothing: the next start cuts it off and fetches it again (where a node does not start so, kraft recover truncate "
    "cuts it)"
)
REBUILD: Final = (
    "look whether the other replicas agree with this log (kraft check on all of them); if they do, kraft recover "
    "rebuild-indexes rebuilds the file while the node is stopped. It refuses where this file, or an index, proves "
    "that the log was longer"
)
ASK: Final = no_start(
    "restart nothing and keep copies of all replicas; then compare them (kraft log diff says which side a majority "
    "holds, kraft recover inspect what each repair would keep and lose)"
)
LOST_HERE: Final = Advice(
    "do not start this node: with its vote, a leader could be elected that lacks these records. Keep a copy of its "
    "directory. Nothing shows a loss on the other voters, and they can elect no leader without these records: kraft "
    "recover inspect says which of them to start. Once they lead, let this replica fetch the log again into an empty "
    "directory",
    otherwise=EMPTIED,
    bars_start=True,
)
"""For lost committed records if the voters that lost none can elect a leader with all of them."""
TIE: Final = no_start(
    "wipe neither, and start neither: either may be the only one with what was committed. Name more copies of the log, "
    "the other controllers' and brokers', until a majority holds one side (kraft log diff); kraft recover inspect says "
    "what each choice would keep and lose"
)
"""For two sides if nothing shows which is right."""
DISAGREES: Final = Advice(
    "do not restart this node: it loads its newest checkpoint as it starts. See who is right (kraft check over all "
    "replicas, kraft log hash). If the others agree with the log, move the file aside while the node is stopped, if"
    " another whole checkpoint covers the log's start; else let the replica fetch the log again into an empty "
    "directory",
    otherwise=EMPTIED,
    bars_start=True,
)
WRONG_FIRST: Final = (
    "the later ones are right, and a node that starts loads the newest: let it run. Restore nothing from this one, and "
    "do not read the log from it (kraft shell, kraft snapshot restore); Kafka removes it by itself once it is old"
)
EPOCHS_ENDED: Final = (
    "stop every controller, close their ports to other hosts, and reset the epoch of all voters with `kraft recover "
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
    "here, move the directory aside, whole, and let the replica fetch the log again into an empty one. A copy that was "
    "made while the node ran may only hold its files as of different moments: copy again, the *.log files last",
    otherwise=EMPTIED,
    bars_start=True,
)
KEEP_PROOF_FIRST: Final = msgspec.structs.replace(KEEP_PROOF, until_compared=True)
"""For a log that may have lost its end, if nothing but the other replicas shows whether it did."""
UNPROVEN_END: Final = no_start(
    "give kraft check the directories of all voters and brokers at once: they may prove that the missing records were "
    "committed. Until then start nothing, and remove nothing beside the log"
)
"""For a producer state file past the log's end, if nothing proves that the missing records were committed."""
RESTORE_FILE: Final = no_start(
    "do not start this node, and do not empty its directory: restore this one file, from a backup of this directory or "
    "by hand; if a newer version wrote it, use software of that version"
)
_WRITER: Final = (
    "restart no controller that has it: it will stop or go wrong there. See the record (kraft log dump, --from"
    " its offset) and whether the other replicas have it (kraft log diff): where they have not, let this replica "
    "fetch the log again; where all have it, find out what wrote it, and keep copies of all before anything is "
    "repaired"
)
WRITER: Final = Advice(_WRITER, otherwise=EMPTIED, bars_start=True)
NO_CHECKPOINT: Final = Advice(
    "copy the checkpoint back from where it went, or let the replica fetch the log again",
    otherwise=EMPTIED,
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
    bars_start=True,
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
    "count a topic's partitions from 0: create the topic again under another name, and move its data"
)
NO_PARTITIONS: Final = (
    "find out what wrote it; nothing can be written to the topic. Delete it by its id, and create it again if it is "
    "wanted"
)
FIRST_EPOCH: Final = Advice(
    _WRITER + ". Brokers refuse epochs below those that they know, and keep this one in the leader-epoch-checkpoint of "
    "the partition's directories",
    otherwise=EMPTIED,
    bars_start=True,
)
OTHER_DISK: Final = (
    "if the directory was moved while the broker was down, nothing: as it starts the broker reports where the "
    "replica is. Until then the controllers look at the wrong disk when one fails. If it was not moved, look for a "
    "copy on the disk that the log names, and keep both"
)
CLOCK: Final = (
    "nothing for the log: nothing in it depends on the time. Look at the controllers' clocks (NTP), and ask for "
    "offsets rather than times here (--from, --at)"
)
KEEP_DIRECTORY: Final = no_start(
    "move and delete nothing of it, and start no controller: it may be all that is left of what was committed. Look "
    "for more copies of the log, the other controllers' and brokers' (kraft recover inspect says which reaches "
    "furthest); only when the cluster is sound without it, or it is known to be another cluster's, move it out of the "
    "log directory by hand while the broker is stopped: ",
    (*AUDIT, "--quarantine"),
    " leaves it",
)
KEEP_DIRECTORIES: Final = no_start(
    "start no controller, and move and delete no partition directory: they may be all that is left of what was "
    "committed. Look for more copies of the log, the other controllers' and brokers' (kraft recover inspect says which "
    "reaches furthest). A directory that is known to be another cluster's, move out of the log directory by hand while "
    "the broker is stopped"
)
"""For lost commits that partition directories prove, and no log here."""
GONE_DIRECTORY: Final = no_start(
    "do not start the broker: it would make an empty one, and where it leads, or is the last in the ISR, the empty one "
    "is the whole partition. Look where the directory went (another disk, a folder that ends in -stray or -delete, a "
    "backup) and put it back; if it is lost, and other replicas are in sync, let the partition be led by one of these "
    "before the broker starts"
)
STRANGE_VOTE: Final = no_start(
    "do not start this node: a voter writes the candidate that it votes for as the voter set has it, so that this file "
    "was changed, or is another node's, and the node may vote twice. Restore the file from a backup of this directory; "
    "without one, leave the directory out of the quorum (kraft recover inspect)",
)
OTHER_ELECTION: Final = no_start(
    "do not start this node: by the logs the election was another one, so that this file was changed, or is another "
    "node's or an older copy's, and the node may vote twice. Restore the file from a backup of this directory; without "
    "one, leave the directory out of the quorum (kraft recover inspect)",
    doubts_vote=True,
)
FORGOTTEN_VOTE: Final = no_start(
    "do not start this node before it is known who changed the file: it may vote twice. Restore the file from a backup "
    "of this directory; without one, keep the node down until the others are in a later epoch (kraft quorum describe)",
    doubts_vote=True,
)
SET_BACK: Final = no_start(
    "if the copies were taken at different times, nothing: copy all again while the nodes are down, and check these. "
    "If an older copy of the directory was put back, do not start the node: it may vote twice, and it has forgotten "
    f"commits that it acknowledged. Set the directory aside; {REPLACE}",
    doubts_vote=True,
)
DENIED_LEADER: Final = Advice(
    "do not start this node. Name the directories of the leader and of all voters: if none of their logs has the "
    "record, move the directory aside as evidence, and let this replica fetch the log into an empty one",
    otherwise=EMPTIED,
    bars_start=True,
)
LEADER_BEHIND: Final = no_start(
    "nothing, if this directory was copied before the other: copy both again while the nodes are down. Otherwise the "
    "leader's log has lost its end: do not start it before the others are compared (kraft log diff)",
    until_compared=True,
)
BEHIND_CHECKPOINT: Final = no_start(
    "nothing, if the replica was sent a checkpoint when it stopped: it goes on from there. Otherwise its log has lost "
    "its end: compare it with the other replicas before it starts (kraft log diff)",
    until_compared=True,
)
WITHOUT_LOG: Final = no_start(
    "if it never ran, nothing: it fetches the log when it starts. Otherwise it has lost log and votes: do not start "
    "it before the others are compared (kraft check on all of them), for it could elect a leader that lacks commits; "
    "look for its disk, and name it too if the log is on another one",
    until_compared=True,
)
WITHOUT_ID: Final = no_start(
    "restore its partition.metadata before the broker starts, if the data matters: Kafka 3.7 and later sets the "
    "directory aside then, and an older one throws that it does not have a topic ID, which is not allowed"
)
_LEADER_WITHOUT_EPOCH: Final = (
    "if the copies were taken at different times, nothing: copy all again while the nodes are down, and check these. "
    "Else the leader's directory was restored from an older copy or lost its end, or the quorum-state that names it "
    "was changed: do not start the leader before it is known which, unless a majority of the others holds all records. "
    "Compare with what the other nodes know of that epoch (kraft check on all of them, kraft recover inspect); restore "
    "the one that is wrong from a backup of its directory"
)
LEADER_WITHOUT_EPOCH: Final = Advice(_LEADER_WITHOUT_EPOCH)
"""For the node whose file names the leader. It may start: the file's epoch is above every vote that it gave."""
LEADER_HELD: Final = no_start(_LEADER_WITHOUT_EPOCH, until_compared=True)
"""For the leader."""
STATIC_VOTERS: Final = no_start(
    "compare controller.quorum.voters in the configuration of all nodes: it must be the same. Do not start this node: "
    "with fewer voters it may elect itself. Restore the file from a backup of this directory, or by hand",
)
VOTERS_AT_ONCE: Final = no_start(
    "start and stop no node before it is known what wrote it: a majority of the voters before and one of those after "
    "need not share a voter, so that both may elect a leader. See the record (kraft log dump, --from its offset) and "
    "who has it (kraft log diff); compare with kraft quorum describe. kraft recover, which replaces several at once on "
    "purpose, writes them with a separate epoch that no voter voted for, and is not meant here"
)
RESTORE_VOTES: Final = no_start(
    "do not start this replica without this file: its vote and epoch are in it, and it may vote twice. Restore the "
    "file from a backup of this directory; if a newer version wrote it, use software of that version. Where neither is "
    "to be had, look at the other replicas first (kraft log diff, kraft recover inspect); if a majority of them is "
    f"sound, move this directory aside, whole, and {REPLACE}"
)
MAY_VOTE_TWICE: Final = no_start("do not start this replica: it may vote twice")
ACL: Final = (
    "find out what wrote it: a controller gives each entry a new id, once. The authorizers of brokers and "
    "controllers that run stop at it and may keep the entry that they had, while those that start again take the later "
    "one: compare what they enforce (kafka-acls.sh --list), delete the entry and add it again"
)
STRANGE: Final = Advice(
    "find out what wrote it, for no controller does, though all replay it. Look whether the other replicas have it so "
    "(kraft log diff); where they have not, let this replica fetch the log again. Where all have it, set what it names "
    "again by Kafka's own tools",
    otherwise=EMPTIED,
)
COLLIDES: Final = (
    "find out what wrote it: a controller refuses such a topic, for metrics write a dot as an underscore and count "
    "both as one. Nothing else stumbles; delete one of the two if it is not wanted"
)

RENAME: Final = no_start(
    "do not start this node: it would go on from the wrong offset. Find out who renamed the file; give it its own name "
    "back while the node is stopped, or move it aside if another whole checkpoint covers the log's start"
)
OTHER_TIME: Final = (
    "look whether the other replicas agree with this log (kraft check on all of them): if they do, move the file aside "
    "while the node is stopped, if an older or newer checkpoint is whole"
)
VOTERS_ID: Final = (
    "do not start the node so: it would follow without a vote, and report no error. While it is stopped write "
    "directory.id={directory_id} back into this file, or restore it from a backup of this directory"
)
UNSHOWN_LOG: Final = no_start(
    "do not start the node, and give this directory no id of a voter: another cluster's log would vote with it. Name "
    "more copies with these, a broker's or a backup's, whose log overlaps both. If the logs are of one cluster, check "
    "again; otherwise find out how the directory came here",
    doubts_vote=True,
)
FROM_ELSEWHERE: Final = no_start("find out how it came here; do not start the node")
LOST_PROPERTIES: Final = (
    "if this is a copy of the metadata log alone, nothing. Else look where the file went: the node does not start "
    "without it, and to format the directory would give it another directory.id, with which a voter has no vote. While "
    "the node is stopped restore it from a backup of this directory, or by hand: cluster.id, node.id, and the "
    "directory.id that the log has for it"
)
NO_MAJORITY: Final = no_start(
    "do not start the nodes so: write the directory.id that the log names back into each meta.properties that was "
    "changed, or restore the disks; where those are lost, kraft recover inspect says how to name the voters again"
)
TWO_LOGS: Final = (
    "find out which one the node used last: on the disk of metadata.log.dir (else the first of log.dirs), and of "
    "a voter that with the directory.id that the log names. Move the other elsewhere while the node is stopped"
)
NOT_NEEDED: Final = (
    "its log and its vote are intact. While the node is stopped, move it out of the directory, and keep it"
)
NEEDLESS_BOOTSTRAP: Final = no_start(f"do not start this node so. It needs nothing from this file: {NOT_NEEDED}")
"""For a damaged `bootstrap.checkpoint` beside a sound log, as `kraft recover inspect` says, too."""
UNREAD_BOOTSTRAP: Final = (
    "nothing for the cluster: no start reads this one, only that beside the metadata log. Ask what else the disk has "
    "damaged, and copy the file from there while the node is stopped"
)
PAST_LOG: Final = (
    "nothing, if the data was copied before the file while the broker ran. Otherwise the replica has lost records that "
    "the broker had written: let the partition's other replicas lead (their logs may have them), and ask what else the "
    "disk has lost"
)
EPOCH_AHEAD: Final = no_start(
    "name all controllers and brokers: another copy of the log may go further. If none does, the metadata has lost the "
    "end of its log, or the directory was brought here: keep it, and start no controller before it is known which"
)
STRANGE_FILE: Final = no_start(
    "do not start the node with it: find out who put it there (a copy by hand, a restore, an interrupted tool), and "
    "move it out of the directory while the node is stopped"
)
DISK_ABSENT: Final = (
    "name all log directories of the broker; if none was left out, the disk is not mounted or lost: the broker would "
    "start without these replicas, and fetch them again from others, if there are others"
)
EXPORT_AGAIN: Final = "export the replica again, unless you changed the copy yourself"
MANIFEST: Final = "copy the manifest back, or export the replica again"
