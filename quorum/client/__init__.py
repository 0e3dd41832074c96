"""The Python client of the controllers. See `quorum.client.client.Client`."""
