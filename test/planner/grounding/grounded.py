"""Goals bound in the small house, as rows that tests compare."""

import yaml

from planner.grounding.grounder import Binder
from planner.grounding.records import Grounding
from planner.grounding.scene import Scene
from planner.language.goal_form import Goal


def goal(text: str) -> Goal:
    return Goal.model_validate(yaml.safe_load(text))


def settled(text: str, scene: Scene) -> Grounding:
    """A goal bound as the evaluator does it."""
    return Binder(goal(text), settle=True).update(scene)


def propositions(found: Grounding) -> list[tuple[object, ...]]:
    """Each proposition as predicate, first list, second list if any, number if not one."""
    rows: list[tuple[object, ...]] = []
    for item in (found.evaluation or {}).get("propositions", ()):
        args = dict(item["args"])
        number = args.pop("number", 1)
        args.pop("is_same_b", None)
        row = (item["function_name"], *(" ".join(map(str, names)) for names in args.values()))
        rows.append(row if number == 1 else (*row, number))
    return rows


def constraints(found: Grounding) -> list[tuple[object, ...]]:
    """Each constraint as its type and what it lists."""
    return [
        (item["type"].removesuffix("Constraint"), *list(item.values())[1:])
        for item in found.evaluation["constraints"]
    ]
