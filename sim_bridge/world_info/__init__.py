"""The loaded world on a topic."""
