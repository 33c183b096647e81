"""What the task planner tells of itself: how the instruction stands, and each call of a model."""
