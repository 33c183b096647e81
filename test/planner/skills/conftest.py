"""The small house with agents whose skills can be called."""

from skill_world import make_world, world

__all__ = ["make_world", "world"]
