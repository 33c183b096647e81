"""Where persons are, on a topic."""
