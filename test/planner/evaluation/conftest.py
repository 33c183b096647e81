"""A laboratory for the judge."""

from judge_lab import make_lab, pieces, rollout

__all__ = ["make_lab", "pieces", "rollout"]
