"""The runtime of a replica, for observers and controllers alike: executor, asyncio driver, config, health and
metrics."""
