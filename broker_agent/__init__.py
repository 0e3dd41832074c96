"""The broker agent: an observer of the metadata log that keeps its local partition directories in step with it.

It fetches the log by topic id, as KIP-516 and KIP-500 have it, instead of being sent LeaderAndIsr, UpdateMetadata and
StopReplica. It never imports the controller or its server.
"""
