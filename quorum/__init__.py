"""A KRaft quorum: Raft with pull, the controller on top of it, the processes that run them and their clients."""
