"""The evaluator node's verdicts as recorded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from planner.evaluation.task_start import verdict_steps
from planner.replay.bag import Bag
from planner.replay.fields import fields_of

RESULT = "/evaluation/result"
_SUCCEEDED = 1


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """A live verdict of the evaluator node.

    `propositions`: satisfied, first step (-1 = never) and reason ("" = satisfied) of each;
    `step`: simulation step of the last state; `sim_steps`: steps since the instruction.
    `start_s`: time of the instruction, or start of a perceived task; None = unknown.
    `criteria`: "met" or "not met"; "" if the episode has none.
    """

    episode_id: str
    received_ns: int
    mode: str
    success: bool
    percent_complete: float
    step: int
    sim_steps: int
    propositions: tuple[tuple[bool, int, str], ...]
    start_s: float | None = None
    criteria: str = ""


def live_verdicts(bag: Bag) -> list[LiveVerdict]:
    """All verdicts of a bag, in the order of receipt.

    Raises:
        FileError: if they cannot be read.
    """
    found = []
    for message in bag.messages((RESULT,)):
        content = message.content
        with fields_of(bag.folder, RESULT):
            found.append(
                LiveVerdict(
                    episode_id=str(content.episode_id),
                    received_ns=message.received_ns,
                    mode=str(content.scoring),
                    success=int(content.status) == _SUCCEEDED,
                    percent_complete=float(content.percent_complete),
                    step=int(content.sim_step),
                    sim_steps=verdict_steps(content),
                    propositions=tuple(
                        (bool(p.satisfied), int(p.first_step), str(p.reason))
                        for p in content.propositions
                    ),
                    start_s=start_of(content),
                    criteria=criteria_of(content),
                )
            )
    return found


def start_of(content: Any) -> float | None:
    """Start of the task, from a planner_msgs/Evaluation; None = unknown."""
    start_s = float(content.start_s if hasattr(content, "start_s") else _metric(content, "start_s"))
    return start_s if math.isfinite(start_s) else None


def criteria_of(content: Any) -> str:
    """State of an episode's criteria, from a planner_msgs/Evaluation; "" = it has none."""
    return str(content.criteria if hasattr(content, "criteria") else _metric(content, "criteria"))


def _metric(content: Any, key: str) -> str:
    """A value in an old bag, where it is text in a list."""
    missing = "nan" if key == "start_s" else ""
    return next((str(item.value) for item in content.metrics if item.key == key), missing)
