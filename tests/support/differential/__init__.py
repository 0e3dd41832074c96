"""The same seeded requests to two clusters, ours and Apache Kafka's, and what their answers and images differ in."""
