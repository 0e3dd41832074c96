"""What runs a replica, observers and controllers alike: the executor, the asyncio driver, config, health and metrics."""
