"""Compare several replicas of one log: voters, committed bounds, divergence."""
