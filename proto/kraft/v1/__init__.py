"""Version 1 of the gRPC contract: `*.proto`, and the stubs that `proto/generate.py` makes of them."""
