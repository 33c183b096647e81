"""What the task planner publishes: the status of the instruction, and each model call."""
