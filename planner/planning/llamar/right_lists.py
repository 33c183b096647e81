"""The right replies of LLaMAR's Planner and Verifier: what is open, and what is done."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random

from planner.models.reference import Fault, ReferenceReply
from planner.planning.llamar.planner_role import PLAN, PlannerRole
from planner.planning.llamar.right_reading import renewed, stem
from planner.planning.llamar.right_scene import INVENTED, Scene, without
from planner.planning.llamar.role import REASON
from planner.planning.llamar.verifier_role import COMPLETED_SUBTASKS, VerifierRole


async def planner_reply(scene: Scene, _role: PlannerRole, random: Random) -> ReferenceReply:
    """What is not known to be done; a completed one again where it is known to be undone."""
    judged = await scene.team.judged(scene.reading)
    said_done = {stem(text) for text in scene.situation.completed_subtasks}
    done = [t for t, holds in judged.items() if holds or (holds is None and t in said_done)]
    before = {text.casefold() for text in scene.situation.completed_subtasks}
    # What was done once and is undone has to have another text to be open again.
    right = [renewed(text, before) for text in judged if text not in done]
    found = {Fault.INVENTED_ENTITY: [*right, f"find the {INVENTED}"]}
    if right:
        found[Fault.SKIPPED_STEP] = without(right, random.choice(right))
        found[Fault.EARLY_DONE] = []
        wrong = random.choice(right)
        found[Fault.WRONG_ENTITY] = [*without(right, wrong), f"{wrong} of another kind"]
    if done:
        found[Fault.REPEATED_STEP] = [*right, random.choice(done)]
    if scene.failed and right:
        # The subtask of the failed action is believed to be done.
        found[Fault.UNNOTICED_FAILURE] = right[1:]
    return _lists(PLAN, right, found)


async def verifier_reply(scene: Scene, _role: VerifierRole, random: Random) -> ReferenceReply:
    """What was completed before, and what is open and known to be done now."""
    judged = await scene.team.judged(scene.reading)
    was_open = scene.situation.open_subtasks
    # A subtask that is not of the goal, such as to find what does not exist, needs nothing.
    done = [text for text in was_open if judged.get(stem(text), True)]
    before = list(scene.situation.completed_subtasks)
    right = [*before, *done]
    undone = [text for text in was_open if text not in done]
    found = {Fault.INVENTED_ENTITY: [*right, f"find the {INVENTED}"]}
    if done:
        found[Fault.SKIPPED_STEP] = without(right, random.choice(done))
    if undone:
        found[Fault.WRONG_ENTITY] = [*right, random.choice(undone)]
        found[Fault.EARLY_DONE] = [*right, *undone]
        if scene.failed:
            found[Fault.UNNOTICED_FAILURE] = [*right, undone[0]]
    if before:
        found[Fault.REPEATED_STEP] = [*right, before[-1]]
    return _lists(COMPLETED_SUBTASKS, right, found)


def _lists(key: str, right: Sequence[str], faulty: Mapping[Fault, Sequence[str]]) -> ReferenceReply:
    def written(texts: Sequence[str]) -> str:
        return json.dumps({REASON: "The lists follow from what was seen.", key: list(texts)})

    return ReferenceReply(written(right), {fault: written(each) for fault, each in faulty.items()})
