"""Other makers' clients of Kafka, each in one module, and the story that each of them plays.

The story and the clients run in an environment of their own, which holds nothing of this project: they import the
standard library and one client. `environment` makes it, and is imported by the tests.
"""
