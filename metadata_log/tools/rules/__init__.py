"""The rules that metadata records must follow, in the order of the log.

`records.py` is the entry: it replays each batch, and asks the others. By the kind of rule:

- a single record, without those before it: `forms.py`; its version at the metadata.version: `levels.py`
- a record after those before its batch: `values.py`, which `record_values.py` asks by the record's type
- a record after those before it, also within its batch: `acls.py`, `topic_ids.py`; brokers beside each other:
  `directory_owners.py`, and each other entry of `BROKER_RULES` in `record_values.py`
- topics and partitions after a batch: `topics.py`; one partition of them: `partitions.py`
- what only a checkpoint must keep to: `image_records.py`; what Kafka leaves in one: `orphaned_configs.py`
"""
