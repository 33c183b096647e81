"""The learned planner: a small network that reads an instruction and chooses calls."""
