"""What the tests share: real processes of ours and of Apache Kafka, and the waiting that goes with them."""
