"""Other makers' clients of Kafka, each in one module, and the scenario that each of them runs.

The scenario and the clients run in a separate environment without this project: they import the standard library and
one client. `environment` makes it; the tests import that module.
"""
