"""`kraft recover`: bring a dead quorum back."""
