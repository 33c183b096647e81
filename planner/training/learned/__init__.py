"""Training of the learned planner: its reader, then its chooser. torch only in functions."""
