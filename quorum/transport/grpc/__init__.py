"""The network port over gRPC."""
