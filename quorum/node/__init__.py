"""What runs a replica, observers and controllers alike: executor, asyncio driver, config, health and metrics."""
