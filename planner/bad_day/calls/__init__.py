"""The operator of a run: service calls and their outcomes."""
