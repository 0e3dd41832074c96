"""All metadata records that Kafka 4.4 knows, one class each: the class is the table (see `metadata_log.records.wire`).

Sources: the message schemas of Apache Kafka 4.4 and the KIPs named in each class. Names, types, versions, tags and
defaults are Kafka's; arrays are tuples, ids are 16 bytes.
"""
