"""`planner operate`: the operator's Trigger services of an agent, one after the other."""
