"""The categories and variants of ET-Plan-Bench's tasks (ETPLAN-4.3, ETPLAN-4.4)."""

from __future__ import annotations

from enum import StrEnum


class Category(StrEnum):
    """What a task asks for; the value of `Criteria.category`."""

    NAVIGATION = "navigation"
    NAVIGATION_RELATION = "navigation_relation"
    MANIPULATION = "manipulation"
    MANIPULATION_RELATION = "manipulation_relation"
    TWO_OBJECTS = "two_objects"
    TEMPORAL = "temporal"

    @property
    def most_actions(self) -> int:
        """The limit M of actions (ETPLAN-1.4)."""
        if self in (Category.NAVIGATION, Category.NAVIGATION_RELATION):
            return 20
        return 40 if self in (Category.MANIPULATION, Category.MANIPULATION_RELATION) else 60


class Variant(StrEnum):
    """What is special about a task; values of `Criteria.variants`.

    LAYOUT_MAP: where furniture is, is known at the start. OCCLUSION_SIZE, OCCLUSION_DISTANCE: in
    the fifth of its category with the smallest, or the farthest, targets. OPTIMAL_PATH: two
    things may be carried at a time, and the plan is the one with the shortest walk.
    ACTION_DEPENDENCY: something has to be opened before it can go on.
    """

    LAYOUT_MAP = "layout_map"
    OCCLUSION_SIZE = "occlusion_size"
    OCCLUSION_DISTANCE = "occlusion_distance"
    OPTIMAL_PATH = "optimal_path"
    ACTION_DEPENDENCY = "action_dependency"
