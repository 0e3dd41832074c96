"""The process around the executor: driver, log lines, metrics, health."""
