"""A planner that writes programs from dialogue, with a memory of programs (HELPER)."""
