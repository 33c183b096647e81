"""What the evaluator node said of a run when it was recorded."""

from __future__ import annotations

from dataclasses import dataclass

from planner.replay.bag import Bag
from planner.replay.fields import fields_of

RESULT = "/evaluation/result"
_SUCCEEDED = 1


@dataclass(frozen=True, slots=True)
class LiveVerdict:
    """What the evaluator node said when the run was recorded.

    `propositions`: satisfied, first step (-1 = never) and reason ("" = satisfied) of each;
    `start_s`: when the task began, where steps are counted from there (a perceived world).
    `criteria`: "met" or "not met"; "" where the episode has none.
    """

    episode_id: str
    received_ns: int
    mode: str
    success: bool
    percent_complete: float
    sim_steps: int
    propositions: tuple[tuple[bool, int, str], ...]
    start_s: float | None = None
    criteria: str = ""


def live_verdicts(bag: Bag) -> list[LiveVerdict]:
    """All verdicts of a bag, in the order of their receipt.

    Raises:
        FileError: where they cannot be read.
    """
    found = []
    for message in bag.messages((RESULT,)):
        content = message.content
        with fields_of(bag.folder, RESULT):
            told = {str(m.key): str(m.value) for m in reversed(content.metrics)}
            found.append(
                LiveVerdict(
                    episode_id=str(content.episode_id),
                    received_ns=message.received_ns,
                    mode=str(content.scoring),
                    success=int(content.status) == _SUCCEEDED,
                    percent_complete=float(content.percent_complete),
                    sim_steps=int(content.sim_step),
                    propositions=tuple(
                        (bool(p.satisfied), int(p.first_step), str(p.reason))
                        for p in content.propositions
                    ),
                    start_s=float(told["start_s"]) if "start_s" in told else None,
                    criteria=told.get("criteria", ""),
                )
            )
    return found
