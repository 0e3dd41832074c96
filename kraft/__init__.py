"""Package of the generated gRPC stubs."""
