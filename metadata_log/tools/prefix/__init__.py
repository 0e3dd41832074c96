"""The valid prefix of one log, from which a node can go on."""
