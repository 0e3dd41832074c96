"""The door that speaks Kafka's protocol: frames in, one answer a request in order, the handlers of gRPC's behind it."""
