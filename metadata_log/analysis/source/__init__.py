"""The Spark data source `kraft_metadata_log`: metadata logs as tables, from any place that Arrow can read."""
