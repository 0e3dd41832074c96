"""What must be settled before any test imports gRPC.

The JVM of Spark's tests is started with a function of PySpark's to run in the child, which takes a real fork: now and
then that JVM then did not start.

An unexpected error of a command shows its traceback, in child processes too. So a bug fails its test.
"""

from __future__ import annotations

import os

from quorum.cli.main import DEBUG_VARIABLE
from quorum.cli.running import fork_without_grpc

fork_without_grpc()
os.environ.setdefault(DEBUG_VARIABLE, "1")
