"""The listeners of Kafka's protocol: length-prefixed frames, one response for each request, in order."""
