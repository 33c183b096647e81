"""What a right reply is about: the moment, its prompt, and the team's last step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from planner.models.reference import Fault, Knows, Reader
from planner.planning.llamar.actions import DONE, IDLE, Action, ActionError, Verb, parse_action
from planner.planning.llamar.instances import class_of, number_of
from planner.planning.llamar.right_actions import RightActions, RightTeam
from planner.planning.llamar.right_reading import Reading, reading_of
from planner.planning.llamar.role import PromptingRole
from planner.planning.llamar.state import Attempt, Situation
from planner.world.record import record

Actions = dict[str, Action | None]
INVENTED = "Samovar"


@record
class Scene:
    """One request.

    Attributes:
        team: knows what is right.
        situation: of the prompt.
        reader: how the prompt is read.
        reading: what the prompt says; None for readers that know all that the memory knows.
        names: of the agents, by the memory's names.
        attempts: the last actions, by the agents' names in prompts.
        alike: the actions of the moment, by verb.
    """

    team: RightTeam
    situation: Situation
    reader: Reader
    reading: Reading | None
    names: Mapping[str, str]
    attempts: Mapping[str, Attempt]
    alike: Mapping[Verb, tuple[Action, ...]]

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of those whose last action failed."""
        return tuple(name for name, one in self.attempts.items() if not one.succeeded)

    @property
    def why(self) -> str | None:
        """Why actions of the step before failed; None if none did."""
        return " ".join(self.attempts[name].text for name in self.failed) or None

    async def right(self) -> RightActions:
        """What each agent should do.

        Raises:
            ModelError: without a goal.
        """
        return await self.team.now(self.reading)


def scene_of(team: RightTeam, role: PromptingRole, situation: Situation, reader: Reader) -> Scene:
    """The scene of a role's prompt."""
    own = team.team
    alike: dict[Verb, list[Action]] = {}
    for action in own.admissible(own.agents[0], team.context):
        alike.setdefault(action.verb, []).append(action)
    named = dict(zip(own.agents, own.names, strict=True))
    reads_prompt = reader.knows is Knows.PROMPT
    return Scene(
        team,
        situation,
        reader,
        reading_of(role, situation, own.instances) if reads_prompt else None,
        named,
        {named[one.agent]: one for one in own.attempts},
        {verb: tuple(found) for verb, found in alike.items()},
    )


# Joint actions and their faults


def by_name(scene: Scene, right: RightActions) -> Actions:
    """The right actions by the agents' names in prompts."""
    return {scene.names[agent]: action for agent, action in right.actions.items()}


def faulty_actions(
    scene: Scene, right: Actions, random: Random, *, is_over: bool
) -> dict[Fault, Actions]:
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
        last = parsed(before.action) if before is not None else None
        if last is not None and last != action and last.verb.takes_thing:
            found[Fault.REPEATED_STEP] = {**right, one: last}
    if not is_over:
        found[Fault.EARLY_DONE] = dict.fromkeys(right, DONE)
    if scene.failed:
        unnoticed = random.choice(scene.failed)
        failed = parsed(scene.attempts[unnoticed].action)
        if failed is not None:
            found[Fault.UNNOTICED_FAILURE] = {**right, unnoticed: _following(scene, failed)}
    return found


def _invented(action: Action) -> Action:
    """The same with the next instance of its class, which nobody has seen."""
    name = action.argument
    return Action(action.verb, f"{INVENTED}{class_of(name)}_{number_of(name) + 1}", action.relation)


def _following(scene: Scene, action: Action) -> Action:
    """What usually comes after an action: handling what was reached, else putting it somewhere."""
    usual = {
        Verb.NAVIGATE_TO: (
            *(Verb.PICKUP, Verb.PUT, Verb.OPEN),
            *(Verb.GET_SAND, Verb.GET_WATER, Verb.USE_SAND, Verb.USE_WATER),
            *(Verb.CARRY, Verb.DROP_OFF),
        ),
        Verb.OPEN: (Verb.PUT,),
    }
    for verb in usual.get(action.verb, ()):
        if Action(verb, action.argument) in scene.alike.get(verb, ()):
            return Action(verb, action.argument)
    return IDLE


def parsed(text: str | None) -> Action | None:
    """The action of a text in one of the two spellings; None if it is in neither."""
    try:
        return parse_action(text) if text else None
    except ActionError:
        return None


def said(action: Action | None) -> str:
    """An action as a reply has it."""
    return (action or IDLE).words


def without(texts: Sequence[str], one: str) -> list[str]:
    """All texts but one."""
    return [text for text in texts if text != one]
