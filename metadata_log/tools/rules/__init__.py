"""The rules that metadata records must follow, in the order of the log."""
