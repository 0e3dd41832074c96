"""The same seeded requests to two clusters, this project's and Apache Kafka's, compared by responses and images."""
