"""Apache Kafka itself, from Maven: its jars, its tools and its nodes as real processes on loopback."""
