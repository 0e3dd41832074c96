"""The dump of a log: as text in the form of Kafka's tools, as rows, or continuously."""
