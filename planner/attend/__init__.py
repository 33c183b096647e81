"""`planner attend`: sends heartbeats for agents whose goals a person or a script sends."""
