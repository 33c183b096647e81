"""The operator of a run: services that are called, and what became of each call."""
