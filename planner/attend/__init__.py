"""`planner attend`: the executive of an agent whose goals a person or a script sends."""
