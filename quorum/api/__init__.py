"""The controller's requests and responses, in Kafka's terms and without a wire format: one module for each family."""
