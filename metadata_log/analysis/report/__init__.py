"""The verdict on a terminal and as one HTML page."""
