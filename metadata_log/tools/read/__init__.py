"""Read the directories of stopped and running nodes, past damage."""
