"""The rules that metadata records must follow, one after the other."""
