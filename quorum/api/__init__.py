"""The requests that the controller answers, in Kafka's terms and free of any wire format: one module a family."""
