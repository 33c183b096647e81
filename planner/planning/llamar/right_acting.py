"""The right replies of those who say what agents do: Act, ReAct, CoT, the Actor, the Corrector."""

from __future__ import annotations

import json
from collections.abc import Iterable
from random import Random

from planner.models.reference import Fault, Knows, ReferenceReply
from planner.planning.llamar import prompt
from planner.planning.llamar.acting_role import ACTION as JOINT_ACTION
from planner.planning.llamar.acting_role import THINK, ActingRole, Style
from planner.planning.llamar.actions import DONE, IDLE
from planner.planning.llamar.actor_role import (
    ACTION,
    MAX_MEMORY_CHARACTERS,
    MEMORY,
    SUBTASK,
    ActorRole,
)
from planner.planning.llamar.corrector_role import CORRECTIVE_ACTION, CorrectorRole
from planner.planning.llamar.right_actions import RightActions
from planner.planning.llamar.right_scene import (
    Actions,
    Scene,
    by_name,
    faulty_actions,
    parsed,
    said,
    without,
)
from planner.planning.llamar.role import FAILURE_REASON, REASON
from planner.planning.llamar.state import Correction


async def joint_reply(scene: Scene, role: ActingRole, random: Random) -> ReferenceReply:
    """Of Act, ReAct and CoT."""

    def written(actions: Actions) -> str:
        own = {name: said(action) for name, action in actions.items()}
        match role.style:
            case Style.ACT:
                return json.dumps(own)
            case Style.REACT:
                return json.dumps({THINK: "The next step is clear.", JOINT_ACTION: own})
            case Style.COT:
                return json.dumps({REASON: "The next step is clear.", **own})

    found = await scene.right()
    right = by_name(scene, found)
    faulty = faulty_actions(scene, right, random, is_over=found.is_over)
    texts = {fault: written(actions) for fault, actions in faulty.items()}
    return ReferenceReply(written(right), texts, acts=True)


async def actor_reply(scene: Scene, role: ActorRole, random: Random) -> ReferenceReply:
    """Of LLaMAR's Actor, with the memory that it writes."""
    found = await scene.right()
    items = _noted(scene)
    reads_prompt, heeds = scene.reader.knows is Knows.PROMPT, scene.reader.heeds

    def written(actions: Actions, items: Iterable[str], *, heeds: bool) -> str:
        asks_why = role.correction is not Correction.OFF
        # In the order of the grammar.
        texts: dict[str, str | None] = {
            **({FAILURE_REASON: scene.why} if asks_why else {}),
            MEMORY: _memory(found, items),
            REASON: "The next step of each robot is clear.",
            SUBTASK: next(iter(found.open_subtasks), None),
        }
        if heeds:
            actions = _heeding(scene, actions)
        own = {prompt.own(name, ACTION): said(action) for name, action in actions.items()}
        return json.dumps({**texts, **own})

    right = by_name(scene, found)
    if reads_prompt:
        right = _with_remedies(scene, right)
    # A step that is skipped is left out of the memory as well.
    fewer = without(items, random.choice(items)) if items else items
    faulty = {
        fault: written(actions, fewer if fault is Fault.SKIPPED_STEP else items, heeds=heeds)
        for fault, actions in faulty_actions(scene, right, random, is_over=found.is_over).items()
    }
    return ReferenceReply(written(right, items, heeds=heeds), faulty, acts=True)


def _noted(scene: Scene) -> list[str]:
    """What is known of each thing that the prompt names, things of the goal first."""
    return [] if scene.reading is None else scene.team.noted(scene.reading)


def _memory(found: RightActions, items: Iterable[str]) -> str:
    done = f"Done: {', '.join(found.completed_subtasks) or 'nothing yet'}."
    room = MAX_MEMORY_CHARACTERS - len(done) - len(" Seen: .")
    kept: list[str] = []
    for item in items:
        room -= len(item) + len("; ")
        if room < 0:
            break
        kept.append(item)
    return f"{done} Seen: {'; '.join(kept)}." if kept else done


def _with_remedies(scene: Scene, actions: Actions) -> Actions:
    """A remedy is taken over, right or wrong."""
    remedies = scene.situation.corrective_actions
    return {name: parsed(remedies.get(name)) or action for name, action in actions.items()}


def _heeding(scene: Scene, actions: Actions) -> Actions:
    """As the Corrector, the Planner and the Verifier say, where the prompt has their words.

    All are done exactly if the prompt lists no open subtask; else an agent that would be done, or
    shall be by its remedy, waits.
    """
    if not scene.situation.open_subtasks:
        return dict.fromkeys(actions, DONE)
    taken = _with_remedies(scene, actions)
    return {name: IDLE if action == DONE else action for name, action in taken.items()}


async def corrector_reply(scene: Scene, role: CorrectorRole, random: Random) -> ReferenceReply:
    """Of LLaMAR's Corrector: what is right to do next, for whoever has just failed."""
    found = await scene.right()
    right = by_name(scene, found)
    remedies: Actions = {
        name: right[name] if name in scene.failed and right[name] not in (DONE, IDLE) else None
        for name in role.names
    }

    def written(why: str | None, actions: Actions) -> str:
        own = {
            prompt.own(name, CORRECTIVE_ACTION): None if action is None else action.words
            for name, action in actions.items()
        }
        return json.dumps({FAILURE_REASON: why, **own})

    nothing: Actions = dict.fromkeys(role.names)
    faulty = faulty_actions(scene, remedies, random, is_over=found.is_over)
    texts: dict[Fault, str] = {
        fault: written(scene.why, actions)
        for fault, actions in faulty.items()
        if fault not in (Fault.EARLY_DONE, Fault.UNNOTICED_FAILURE)
    }
    if not found.is_over:
        texts[Fault.EARLY_DONE] = written("the task is complete", dict.fromkeys(role.names, DONE))
    if scene.failed:
        texts[Fault.UNNOTICED_FAILURE] = written(None, nothing)
    return ReferenceReply(written(scene.why, remedies), texts)
