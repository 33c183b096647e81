"""The planners `expert` and `heuristic_expert`, which need a structured goal and no model."""
