"""The Raft core: a pure function of its inputs. See `quorum/DESIGN.md`."""
