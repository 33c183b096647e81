"""The house and episode that the task planner works in."""
