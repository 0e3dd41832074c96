"""The performance gate: this tree beside the wheel of the previous release, and that wheel beside itself."""
