"""Which configs exist, which values they take, and which are in force."""
