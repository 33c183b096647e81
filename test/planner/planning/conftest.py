"""Things lie in the small house where each test says."""

from planning_toys import toy_world

__all__ = ["toy_world"]
