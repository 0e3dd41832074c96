"""Print a log as Kafka's tools do, as rows, or follow it."""
