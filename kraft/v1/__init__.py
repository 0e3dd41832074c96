"""Version 1 of the gRPC contract: the stubs that `proto/generate.py` makes of `proto/kraft/v1/*.proto`."""
