"""The replicated metadata log in Apache Kafka's own format: its bytes, its files, its records and their image.

No network and no event loop: controllers, agents, offline tools and tests all use it.
"""
