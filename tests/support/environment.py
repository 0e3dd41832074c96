"""What must be settled before any test imports gRPC.

The JVM of Spark's tests is started with a function of PySpark's to run in the child, which takes a real fork: now and
then that JVM then did not start.
"""

from __future__ import annotations

from quorum.cli.running import fork_without_grpc

fork_without_grpc()
