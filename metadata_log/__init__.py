"""The replicated metadata log in Apache Kafka's own format: its bytes, its files, and what they mean.

No network and no event loop: controllers, agents, offline tools and tests all stand on it.
"""
