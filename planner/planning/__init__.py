"""Planning: prompts, planners and the loop that carries out a task."""
