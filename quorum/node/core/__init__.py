"""The executor of one replica: sans-I/O, driven alike by asyncio and by the simulator."""
