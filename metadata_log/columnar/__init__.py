"""Metadata records as Arrow columns, decoded many at a time with numpy.

Every type and version is decoded from its declaration in `metadata_log/records/declarations`. Needs numpy and pyarrow,
which the extra `analysis` installs. Must not know: Spark, and where the bytes come from.
"""
