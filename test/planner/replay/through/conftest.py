"""Recorded runs that tests share."""

from shared_bags import asked, decided_bag, seen_bag, through

__all__ = ["asked", "decided_bag", "seen_bag", "through"]
