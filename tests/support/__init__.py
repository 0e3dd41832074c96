"""The tests' shared parts: real processes of this project and of Apache Kafka, and waits for them."""
