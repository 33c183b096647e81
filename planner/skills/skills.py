"""The skills of this project, one record each; LLaMAR's stand with LLaMAR."""

from __future__ import annotations

from collections.abc import Mapping

from planner.skills.attempt import Attempt, Motion, Routine
from planner.skills.handling import pick, place, rearrange
from planner.skills.moving import (
    close_furniture,
    explore,
    explore_furniture,
    look,
    look_round,
    navigate,
    open_furniture,
    piece_around,
)
from planner.skills.part import SkillPart
from planner.skills.persons import (
    ask_name,
    find_person,
    follow,
    greet,
    guide,
    hand_over,
    listen,
    say,
    second_is_another,
    take_from,
    text_is_short,
)
from planner.skills.preconditions import (
    Arguments,
    hand_is_free,
    thing_can_be_fetched,
    thing_is_in_hand,
)
from planner.skills.results import RefusalError, failure, not_grounded
from planner.skills.tools import (
    answers,
    explore_house,
    find_agent_actions,
    find_objects,
    find_receptacles,
    find_rooms,
)
from planner.world.agents import default_bodies
from planner.world.catalogue import default_catalogue
from planner.world.geometry import Vec3
from planner.world.house import Furniture
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName
from planner.world.skill import (
    PLACE_ROLES,
    AsReported,
    Divided,
    HeldStateSet,
    NameLearned,
    OpenedTo,
    PickedUp,
    PutDown,
    Role,
    SkillCode,
    SkillEffect,
    StateSet,
    StatesPoured,
)
from planner.world.states import Condition, StateSkill, default_state_skills, default_states
from planner.world.vocabulary import AgentKind, Hand

_PATIENT_STEPS = 20


def wait(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Waits for a fixed time (PARTNR-D50)."""
    port, options = attempt.scene.port, attempt.scene.options
    until_s, last_s, still = attempt.started_s + options.wait_s, attempt.started_s, 0
    can_look = PrimitiveName.LOOK in attempt.scene.capabilities.primitives
    attempt.wakes_s = until_s
    while (now_s := port.now_s()) < until_s - 1e-6:
        attempt.end_if_canceled()
        still = still + 1 if now_s == last_s else 0
        last_s = now_s
        if still >= _PATIENT_STEPS and can_look:
            yield from look(attempt, ((0.0, attempt.camera.tilt_rad),), "waiting")
        else:
            yield "waiting", 1.0 - (until_s - now_s) / options.wait_s
    return attempt.success()


def done(attempt: Attempt, arguments: Arguments) -> Routine:  # noqa: ARG001
    """Declares the task finished; nothing moves."""
    yield from ()
    return attempt.success()


def _part(skill: StateSkill) -> SkillPart:
    effects: list[SkillEffect] = [StateSet(state, value) for state, value in skill.sets.items()]
    values = default_states().values
    flags = tuple(flag for name in skill.copies for flag in values[name].values())
    effects += [StatesPoured(flags)] if flags else []
    effects += [Divided()] if skill.divides else []
    effects += [HeldStateSet(state, value) for state, value in skill.hand_sets.items()]
    return SkillPart(
        summary=skill.summary,
        routine=lambda attempt, arguments: _routine(attempt, arguments, skill),
        roles=(Role.OBJECT_OR_FURNITURE if skill.furniture else Role.OBJECT,),
        abilities=frozenset({skill.primitive}),
        affordance=default_states().affordance_of[next(iter(skill.sets))],
        preconditions=(lambda attempt, arguments: _check_hand(attempt, arguments, skill),),
        effects=tuple(effects),
        named_text=skill.named_text,
        numbered_text=skill.numbered_text,
    )


def _check_hand(attempt: Attempt, arguments: Arguments, skill: StateSkill) -> None:
    """Checks that the agent holds what the skill needs, as far as known."""
    needed = skill.needs.hand
    if needed is None:
        return
    name = arguments.entities[0].name
    if attempt.held == (name,):
        how = "poured into itself" if skill.hand_sets else "done with itself"
        sentence = f"{name} is what the agent holds: it cannot be {how}."
        raise RefusalError(SkillCode.WRONG_ARGUMENTS, sentence)
    if _tool(attempt, needed, name) is None:
        raise RefusalError(SkillCode.NOT_HOLDING, f"The agent is not holding {needed.what}.")


def _tool(attempt: Attempt, needed: Condition, target: str) -> str | None:
    """The held thing that a skill is done with, such as what is poured from."""

    def rank(thing: str) -> int:
        node = attempt.belief.find(thing)
        cls = default_catalogue().objects.get(node.class_name) if node is not None else None
        if node is None or cls is None:
            return 1
        if not needed.is_kind(cls.name, cls.affordances):
            return 2
        return 0 if needed.has_states(node.states) else 1

    ranks = [(rank(thing), i, thing) for i, thing in enumerate(attempt.held) if thing != target]
    return next((thing for number, _, thing in sorted(ranks) if number < 2), None)


def _routine(attempt: Attempt, arguments: Arguments, skill: StateSkill) -> Routine:
    target = arguments.entities[0]
    state, value = next(iter(skill.sets.items()))
    words = {"entity": target.name, "state": state, "value": str(value).lower()}
    attempt.evidence.update(words)
    tool = _tool(attempt, skill.needs.hand, target.name) if skill.needs.hand else None
    hand = attempt.hand_for(tool) if tool is not None else None
    if skill.hand_sets and tool is not None:
        attempt.evidence["poured_from"] = tool
    name, phase = skill.primitive, f"{skill.doing} {target.name}"
    if target.is_thing and target.name in attempt.held:
        result = yield from _in_hand(attempt, target.name, name, phase, hand)
    elif target.piece is not None:
        primitive = Primitive(name, _near_side(target.piece, attempt.base))
        result = yield from attempt.handle_at(primitive, phase, target.piece)
    else:
        gate_m = attempt.scene.options.grounding_gate_m
        primitive = Primitive(name, target.point_m, tolerance_m=gate_m, hand=hand)
        result = yield from attempt.handle_at(primitive, phase, piece_around(attempt, target))
    if result.succeeded:
        return attempt.success()
    if result.code is PrimitiveCode.NOTHING_THERE:
        return not_grounded(target.point_m, **attempt.evidence)
    return failure(result, target.name, **attempt.evidence)


def _in_hand(attempt: Attempt, thing: str, name: str, phase: str, hand: Hand | None) -> Motion:
    """Applies it to a held object, whose position is known in the agent's own frame."""
    # The hand moves with the camera: bring it to the front first.
    looked = yield from look(attempt, ((0.0, attempt.camera.tilt_rad),), phase)
    if not looked.succeeded:
        return looked
    kinds = {kind.value: kind for kind in AgentKind}
    kind = kinds.get(attempt.scene.capabilities.kind, AgentKind.HUMAN)
    frame = f"{attempt.scene.agent}/base_link"
    holder = attempt.hand_for(thing) or Hand.RIGHT
    primitive = Primitive(name, default_bodies()[kind].hand_at_m(holder), frame=frame, hand=hand)
    return (yield from attempt.do(primitive, phase))


def _near_side(piece: Furniture, base: Vec3 | None) -> Vec3:
    """The low point of the furniture nearest to the agent, where nothing lies."""
    low, high = piece.box.minimum_m, piece.box.maximum_m
    middle = piece.box.center_m
    start = base or middle
    x = min(max(start[0], low[0]), high[0])
    y = min(max(start[1], low[1]), high[1])
    return (x, y, 0.3 * high[2])


_TALKS = frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK, PrimitiveName.TALK})

SKILLS: Mapping[str, SkillPart] = {
    # Skills that move the body or turn its camera.
    "Navigate": SkillPart(
        summary="walks next to furniture or a thing, or into a room",
        routine=navigate,
        roles=(Role.TARGET,),
        abilities=frozenset({PrimitiveName.NAVIGATE}),
        timed_out_text="Unsuccessful execution - skill timed out on the way to target",
        named_text="goes next to furniture, a room or an object. Example (Navigate[table_3])",
        numbered_text="goes next to a thing or furniture. Example: Navigate[Object.101]",
        timeout_s=180.0,
    ),
    "LookRound": SkillPart(
        summary="turns round in twelve turns of 30 degrees, and looks after each (ET-Plan-Bench)",
        routine=look_round,
        abilities=frozenset({PrimitiveName.LOOK}),
    ),
    "Wait": SkillPart(
        summary="lets a fixed time pass",
        routine=wait,
        named_text="does nothing for a while. Example (Wait[])",
    ),
    "Done": SkillPart(
        summary="declares the task finished; nothing moves",
        routine=done,
        named_text="says that the whole task is finished. Example (Done[])",
        numbered_text=(
            "says that the whole task is finished; nothing can be done after it. Example: Done[]"
        ),
    ),
    # Skills of the hand: things, doors and drawers.
    "Pick": SkillPart(
        summary="takes a thing within reach",
        routine=pick,
        roles=(Role.OBJECT,),
        aliases=("PickObject",),
        abilities=frozenset({PrimitiveName.PICK}),
        preconditions=(hand_is_free,),
        effects=(PickedUp(),),
        named_text="takes an object, which must be near; a hand holds one. Example (Pick[vase_0])",
        numbered_text="takes a thing into the hand; a hand holds one thing. "
        "Example: Pick[Object.149]",
    ),
    "Place": SkillPart(
        summary="puts the held thing on or into furniture, or on the floor",
        routine=place,
        roles=PLACE_ROLES,
        aliases=("PlaceObject",),
        abilities=frozenset({PrimitiveName.PLACE}),
        preconditions=(thing_is_in_hand,),
        effects=(PutDown(),),
        named_text=(
            "puts down the object in the hand: Place[<object>, <on or within>, <furniture>, "
            "<next_to or None>, <reference object or None>]. The reference object must already be"
            " on that furniture. Example (Place[vase_0, on, table_3, None, None])"
        ),
        numbered_text=(
            "puts the thing in the hand down, on or within furniture, next_to a thing that is "
            "there already or anywhere. Examples: Place[Object.149, on, Object.101, None, None], "
            "Place[Object.149, on, Object.101, next_to, Object.150]"
        ),
        timeout_s=180.0,
    ),
    "Rearrange": SkillPart(
        summary="fetches a thing and places it",
        routine=rearrange,
        roles=PLACE_ROLES,
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.PICK, PrimitiveName.PLACE}),
        preconditions=(thing_can_be_fetched,),
        effects=(PutDown(),),
        named_text=(
            "fetches an object and puts it down: Rearrange[<object>, <on or within>, <furniture>,"
            " <next_to or None>, <reference object or None>]. Example (Rearrange[vase_0, on, "
            "table_3, None, None])"
        ),
        timeout_s=600.0,
    ),
    "Open": SkillPart(
        summary="opens all doors, drawers and lids of furniture",
        routine=open_furniture,
        roles=(Role.FURNITURE,),
        aliases=("OpenFurniture",),
        abilities=frozenset({PrimitiveName.OPEN}),
        effects=(OpenedTo(1.0),),
        named_text="opens furniture that opens. Example (Open[cabinet_7])",
        numbered_text=(
            "opens furniture, so that one can look and reach inside. Example: Open[Object.101]"
        ),
    ),
    "Close": SkillPart(
        summary="closes all doors, drawers and lids of furniture",
        routine=close_furniture,
        roles=(Role.FURNITURE,),
        aliases=("CloseFurniture",),
        abilities=frozenset({PrimitiveName.CLOSE}),
        effects=(OpenedTo(0.0),),
        named_text="closes furniture that opens. Example (Close[cabinet_7])",
        numbered_text="closes furniture that opens. Example: Close[Object.101]",
    ),
    # Skills that change states: one routine for all, as declared in the catalogue.
    **{skill.name: _part(skill) for skill in default_state_skills().values()},
    # Skills that look for things.
    "Explore": SkillPart(
        summary="looks around in a room, then at its furniture piece by piece",
        routine=explore,
        roles=(Role.ROOM,),
        aliases=("ExploreRoom",),
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
        named_text="goes to all furniture of a room, to find things. Example (Explore[kitchen_1])",
        timeout_s=600.0,
    ),
    "ExploreFurniture": SkillPart(
        summary="walks to a piece of furniture and looks at it",
        routine=explore_furniture,
        roles=(Role.FURNITURE,),
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
        numbered_text=(
            "goes to a piece of furniture and looks for things at it, and in it where it is open."
            " Example: ExploreFurniture[Object.101]"
        ),
        timeout_s=240.0,
    ),
    "ExploreHouse": SkillPart(
        summary="explores all floor that can be walked to, by a map that it builds (HELPER)",
        routine=explore_house,
        abilities=frozenset({PrimitiveName.NAVIGATE, PrimitiveName.LOOK}),
        timeout_s=3600.0,
    ),
    # Skills with persons.
    "FindPerson": SkillPart(
        summary="looks for a person who is as described, and asks for a name that is not known",
        routine=find_person,
        roles=(Role.TEXT,),
        abilities=_TALKS,
        timeout_s=900.0,
    ),
    "Greet": SkillPart(
        summary="goes to a person and says hello",
        routine=greet,
        roles=(Role.PERSON,),
        abilities=_TALKS,
    ),
    "Say": SkillPart(
        summary="goes to a person and says a text",
        routine=say,
        roles=(Role.PERSON, Role.TEXT),
        abilities=_TALKS,
        preconditions=(text_is_short,),
    ),
    "AskName": SkillPart(
        summary="goes to a person and asks for the name",
        routine=ask_name,
        roles=(Role.PERSON,),
        abilities=_TALKS,
        effects=(NameLearned(),),
    ),
    "Listen": SkillPart(
        summary="goes to a person and asks for the person's question",
        routine=listen,
        roles=(Role.PERSON,),
        abilities=_TALKS,
    ),
    "Follow": SkillPart(
        summary="follows a person who agrees, to a place or as far as the person goes",
        routine=follow,
        roles=(Role.PERSON, Role.DESTINATION),
        abilities=_TALKS,
        effects=(AsReported(),),
        timeout_s=600.0,
    ),
    "Guide": SkillPart(
        summary="leads a person to a place or to another person",
        routine=guide,
        roles=(Role.PERSON, Role.TARGET),
        abilities=_TALKS,
        preconditions=(second_is_another,),
        effects=(AsReported(),),
        timeout_s=600.0,
    ),
    "HandOver": SkillPart(
        summary="gives the held thing to a person",
        routine=hand_over,
        roles=(Role.OBJECT, Role.PERSON),
        abilities=_TALKS | {PrimitiveName.HAND_OVER},
        preconditions=(thing_is_in_hand,),
        effects=(AsReported(),),
        timeout_s=180.0,
    ),
    "TakeFrom": SkillPart(
        summary="takes what a person holds",
        routine=take_from,
        roles=(Role.PERSON,),
        abilities=_TALKS | {PrimitiveName.TAKE_FROM},
        preconditions=(hand_is_free,),
        effects=(AsReported(),),
        timeout_s=180.0,
    ),
    # PARTNR's tools: questions to the memory, without a motion.
    "FindAgentActionTool": SkillPart(
        summary="tells what the other agents do and did",
        routine=find_agent_actions,
        aliases=("FindPartnerAgentActionTool",),
        named_text="tells what the other agents do and did. Example (FindAgentActionTool[])",
        is_query=True,
    ),
    "FindObjectTool": SkillPart(
        summary="names known things that fit a description",
        routine=answers(find_objects),
        roles=(Role.TEXT,),
        named_text=(
            "finds known objects by a description. Example (FindObjectTool[toys on the floor])"
        ),
        is_query=True,
    ),
    "FindReceptacleTool": SkillPart(
        summary="names furniture that fits a description",
        routine=answers(find_receptacles),
        roles=(Role.TEXT,),
        named_text=(
            "finds furniture by a description. Example (FindReceptacleTool[a table in the kitchen])"
        ),
        is_query=True,
    ),
    "FindRoomTool": SkillPart(
        summary="names rooms that fit a description",
        routine=answers(find_rooms),
        roles=(Role.TEXT,),
        named_text="finds rooms by a description. Example (FindRoomTool[a room with a bed])",
        is_query=True,
    ),
}
