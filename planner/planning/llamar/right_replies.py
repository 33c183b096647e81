"""The right reply of each role, and the same with one fault (LLAMAR-D80, LLAMAR-D81)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from random import Random

from planner.models.chat import ModelError
from planner.models.reference import Fault, ReferenceReply
from planner.planning.llamar import prompt
from planner.planning.llamar.acting_role import ACTION as JOINT_ACTION
from planner.planning.llamar.acting_role import THINK, ActingRole, Style
from planner.planning.llamar.actions import DONE, IDLE, Action, ActionError, Verb, parse_action
from planner.planning.llamar.actor_role import ACTION, MEMORY, SUBTASK, ActorRole
from planner.planning.llamar.corrector_role import CORRECTIVE_ACTION, CorrectorRole
from planner.planning.llamar.instances import class_of, number_of
from planner.planning.llamar.planner_role import PLAN, PlannerRole
from planner.planning.llamar.right_actions import RightActions, RightTeam
from planner.planning.llamar.role import FAILURE_REASON, REASON
from planner.planning.llamar.state import Attempt, Correction, Situation
from planner.planning.llamar.verifier_role import COMPLETED_SUBTASKS, VerifierRole
from planner.world.record import record

Actions = dict[str, Action | None]
INVENTED = "Samovar"
_AGAIN = " again"


@record
class _Scene:
    """What a reply is about: the moment, its prompt, and the team's last step."""

    right: RightActions
    situation: Situation
    names: Mapping[str, str]
    attempts: Mapping[str, Attempt]
    alike: Mapping[Verb, tuple[Action, ...]]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of those whose last action failed."""
        return tuple(name for name, one in self.attempts.items() if not one.succeeded)


async def right_reply(
    team: RightTeam,
    role: object,
    situation: Situation,
    random: Random,
    *,
    heeds: bool,
) -> ReferenceReply:
    """The right reply of a role to a prompt, and its faulty versions.

    Args:
        team: knows what is right.
        role: a `planner.planning.llamar.role.TeamRole` of LLaMAR or its baselines.
        situation: of the prompt.
        random: chooses the agent, thing or subtask that a fault is about.
        heeds: whether the reply follows what other roles wrote in the prompt.

    Raises:
        ModelError: without a goal, or for a role that is not known here.
    """
    scene = await _scene(team, situation)
    match role:
        case ActingRole():
            return _joint(scene, role, random)
        case ActorRole():
            return _acting(scene, role, random, heeds=heeds)
        case CorrectorRole():
            return _correcting(scene, role, random)
        case PlannerRole():
            return _planning(scene, random)
        case VerifierRole():
            return _verifying(scene, random)
        case _:
            raise ModelError(f"the model teacher knows no replies of {type(role).__name__}")


async def _scene(team: RightTeam, situation: Situation) -> _Scene:
    right, own = await team.now(), team.team
    admissible = own.admissible(own.agents[0], team.context)
    alike: dict[Verb, list[Action]] = {}
    for action in admissible:
        alike.setdefault(action.verb, []).append(action)
    named = dict(zip(own.agents, own.names, strict=True))
    return _Scene(
        right,
        situation,
        named,
        {named[one.agent]: one for one in own.attempts},
        {verb: tuple(found) for verb, found in alike.items()},
    )


# Joint actions: of Act, ReAct, CoT and the Actor


def _joint(scene: _Scene, role: ActingRole, random: Random) -> ReferenceReply:
    def written(actions: Actions) -> str:
        said = {name: _said(action) for name, action in actions.items()}
        match role.style:
            case Style.ACT:
                return json.dumps(said)
            case Style.REACT:
                return json.dumps({THINK: "The next step is clear.", JOINT_ACTION: said})
            case Style.COT:
                return json.dumps({REASON: "The next step is clear.", **said})

    right = _right(scene)
    faulty = _faulty_actions(scene, right, random)
    return ReferenceReply(written(right), {fault: written(a) for fault, a in faulty.items()})


def _acting(scene: _Scene, role: ActorRole, random: Random, *, heeds: bool) -> ReferenceReply:
    why = _why(scene)
    texts: dict[str, str | None] = {
        MEMORY: f"Done: {', '.join(scene.right.completed_subtasks) or 'nothing yet'}.",
        REASON: "The next step of each robot is clear.",
        SUBTASK: next(iter(scene.right.open_subtasks), None),
    }
    if role.correction is not Correction.OFF:
        texts[FAILURE_REASON] = why

    def written(actions: Actions) -> str:
        if heeds:
            actions = _heeding(scene, actions)
        own = {prompt.own(name, ACTION): _said(action) for name, action in actions.items()}
        return json.dumps({**texts, **own})

    right = _right(scene)
    faulty = _faulty_actions(scene, right, random)
    return ReferenceReply(written(right), {fault: written(a) for fault, a in faulty.items()})


def _right(scene: _Scene) -> Actions:
    return {scene.names[agent]: action for agent, action in scene.right.actions.items()}


def _heeding(scene: _Scene, actions: Actions) -> Actions:
    """As the Corrector, the Planner and the Verifier say, where the prompt has their words.

    A corrective action is taken over, right or wrong. All are done exactly if the prompt lists no
    open subtask; else an agent that would be done, or shall be by its remedy, waits.
    """
    if not scene.situation.open_subtasks:
        return dict.fromkeys(actions, DONE)
    taken: Actions = {}
    for name, action in actions.items():
        remedy = _parsed(scene.situation.corrective_actions.get(name))
        chosen = remedy or action
        taken[name] = IDLE if chosen == DONE else chosen
    return taken


def _faulty_actions(scene: _Scene, right: Actions, random: Random) -> dict[Fault, Actions]:
    """One agent's action is wrong; of `EARLY_DONE` all agents' are."""
    found: dict[Fault, Actions] = {}
    busy = [
        name for name, action in right.items() if action is not None and action.verb.takes_thing
    ]
    one = random.choice(busy) if busy else None
    action = right.get(one) if one is not None else None
    if one is not None and action is not None:
        found[Fault.INVENTED_ENTITY] = {**right, one: _invented(action)}
        others = [other for other in scene.alike.get(action.verb, ()) if other != action]
        if others:
            found[Fault.WRONG_ENTITY] = {**right, one: random.choice(others)}
        found[Fault.SKIPPED_STEP] = {**right, one: _following(scene, action)}
        before = scene.attempts.get(one)
        last = _parsed(before.action) if before is not None else None
        if last is not None and last != action and last.verb.takes_thing:
            found[Fault.REPEATED_STEP] = {**right, one: last}
    if not scene.right.is_over:
        found[Fault.EARLY_DONE] = dict.fromkeys(right, DONE)
    if scene.failed:
        unnoticed = random.choice(scene.failed)
        failed = _parsed(scene.attempts[unnoticed].action)
        if failed is not None:
            found[Fault.UNNOTICED_FAILURE] = {**right, unnoticed: _following(scene, failed)}
    return found


def _invented(action: Action) -> Action:
    """The same with the next instance of its class, which nobody has seen."""
    name = action.argument
    return Action(action.verb, f"{INVENTED}{class_of(name)}_{number_of(name) + 1}", action.relation)


def _following(scene: _Scene, action: Action) -> Action:
    """What usually comes after an action: handling what was reached, else putting it somewhere."""
    usual = {
        Verb.NAVIGATE_TO: (Verb.PICKUP, Verb.PUT, Verb.OPEN),
        Verb.OPEN: (Verb.PUT,),
    }
    for verb in usual.get(action.verb, ()):
        if Action(verb, action.argument) in scene.alike.get(verb, ()):
            return Action(verb, action.argument)
    return IDLE


# The Corrector


def _correcting(scene: _Scene, role: CorrectorRole, random: Random) -> ReferenceReply:
    right = _right(scene)
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

    why = _why(scene)
    nothing: Actions = dict.fromkeys(role.names)
    faulty = _faulty_actions(scene, remedies, random)
    found: dict[Fault, str] = {
        fault: written(why, actions)
        for fault, actions in faulty.items()
        if fault not in (Fault.EARLY_DONE, Fault.UNNOTICED_FAILURE)
    }
    if not scene.right.is_over:
        found[Fault.EARLY_DONE] = written("the task is complete", dict.fromkeys(role.names, DONE))
    if scene.failed:
        found[Fault.UNNOTICED_FAILURE] = written(None, nothing)
    return ReferenceReply(written(why, remedies), found)


def _why(scene: _Scene) -> str | None:
    """Why actions of the step before failed; None if none did."""
    return " ".join(scene.attempts[name].text for name in scene.failed) or None


# The Planner and the Verifier


def _planning(scene: _Scene, random: Random) -> ReferenceReply:
    done_before = {text.casefold() for text in scene.situation.completed_subtasks}
    # What was done once and is undone has to have another text to be open again.
    right = [_fresh(text, done_before) for text in scene.right.open_subtasks]
    found = {Fault.INVENTED_ENTITY: [*right, f"find the {INVENTED}"]}
    if right:
        found[Fault.SKIPPED_STEP] = _without(right, random.choice(right))
        found[Fault.EARLY_DONE] = []
        wrong = random.choice(right)
        found[Fault.WRONG_ENTITY] = [*_without(right, wrong), f"{wrong} of another kind"]
    if scene.right.completed_subtasks:
        found[Fault.REPEATED_STEP] = [*right, random.choice(scene.right.completed_subtasks)]
    if scene.failed and right:
        # The subtask of the failed action is believed to be done.
        found[Fault.UNNOTICED_FAILURE] = right[1:]
    return _lists(PLAN, right, found)


def _fresh(text: str, done_before: set[str]) -> str:
    while text.casefold() in done_before:
        text += _AGAIN
    return text


def _verifying(scene: _Scene, random: Random) -> ReferenceReply:
    was_open = scene.situation.open_subtasks
    still = set(scene.right.open_subtasks)
    done = [text for text in was_open if _stem(text) not in still]
    before = list(scene.situation.completed_subtasks)
    right = [*before, *done]
    undone = [text for text in was_open if text not in done]
    found = {Fault.INVENTED_ENTITY: [*right, f"find the {INVENTED}"]}
    if done:
        found[Fault.SKIPPED_STEP] = _without(right, random.choice(done))
    if undone:
        found[Fault.WRONG_ENTITY] = [*right, random.choice(undone)]
        found[Fault.EARLY_DONE] = [*right, *undone]
        if scene.failed:
            found[Fault.UNNOTICED_FAILURE] = [*right, undone[0]]
    if before:
        found[Fault.REPEATED_STEP] = [*right, before[-1]]
    return _lists(COMPLETED_SUBTASKS, right, found)


def _stem(text: str) -> str:
    while text.endswith(_AGAIN):
        text = text.removesuffix(_AGAIN)
    return text


def _lists(key: str, right: Sequence[str], faulty: Mapping[Fault, Sequence[str]]) -> ReferenceReply:
    def written(texts: Sequence[str]) -> str:
        return json.dumps({REASON: "The lists follow from what was seen.", key: list(texts)})

    return ReferenceReply(written(right), {fault: written(each) for fault, each in faulty.items()})


def _without(texts: Sequence[str], one: str) -> list[str]:
    return [text for text in texts if text != one]


def _parsed(text: str | None) -> Action | None:
    try:
        return parse_action(text) if text else None
    except ActionError:
        return None


def _said(action: Action | None) -> str:
    return (action or IDLE).words
