"""Methods and statements that are several steps, and the skill call of each step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from papers.helper.programs.bindings import Situation, is_own
from papers.helper.programs.preconditions import Scene, receptacle_for
from papers.helper.programs.program import (
    Aftermath,
    Instance,
    Invocation,
    Method,
    SkillStep,
    Statement,
    Work,
)
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillName
from planner.world.states import (
    Condition,
    StateSkill,
    default_state_skills,
    default_states,
    skills_that_make,
    state_skill,
)
from planner.world.vocabulary import Relation

STATE_OF: Mapping[Method, str] = {
    Method.CLEAN: "clean",
    Method.COOK: "cooked",
    Method.TOAST: "toasted",
    Method.FILL_UP: "filled",
}
"""The state that a method makes true."""

METHOD_OF: Mapping[str, Method] = {
    "clean": Method.CLEAN,
    "cooked": Method.COOK,
    "toasted": Method.TOAST,
}
"""The method that makes an attribute true."""

_DOORS = (SkillName.OPEN.value, SkillName.CLOSE.value)
_WATER = "filled_with_water"


class NoWayError(PlannerError):
    """Nothing here can do what a method needs; `sentence` says so to models."""

    def __init__(self, sentence: str) -> None:
        self.sentence = sentence
        super().__init__(sentence)


def is_true_already(method: Method, thing: str, situation: Situation) -> bool:
    """Whether what a method makes true holds."""
    if method is Method.FILL_UP:
        return situation.state(thing, _WATER)
    state = STATE_OF.get(method)
    return state is not None and situation.state(thing, state)


def changing(method: Method, scene: Scene) -> tuple[Work, ...]:
    """The statements that give the thing of a scene the state of a method.

    Raises:
        NoWayError: if the thing cannot have it, or nothing known can give it.
    """
    state, thing = STATE_OF[method], scene.thing
    situation = scene.situation
    needed = default_states().affordance_of[state]
    if needed not in situation.affordances(thing):
        raise NoWayError(f"{thing} is not {needed}.")
    ways = [
        s for s in skills_that_make(state, value=True) if s.sets.get(state) and not s.needs.hand
    ]
    if method is Method.FILL_UP:
        ways = [s for s in ways if s.sets.get(_WATER)]
    ways = sorted(ways, key=lambda skill: len(skill.needs.at))
    if not ways:
        raise NoWayError(f"nothing makes {thing} {state}.")
    skill = ways[0]
    if skill.needs.at:
        return _at_device(skill, scene)
    if not situation.facts.is_thing(thing):
        return (Invocation(scene.variable, Method.GO_TO), SkillStep(scene.variable, skill.name))
    return (*_to_water(skill, method, scene), SkillStep(scene.variable, skill.name))


def pouring(scene: Scene) -> tuple[Work, ...]:
    """The skill that pours what is in the hand: onto a plant, or into something."""
    waters = [
        skill
        for skill in skills_that_make("watered", value=True)
        if "waterable" in scene.situation.affordances(scene.place)
    ]
    name = waters[0].name if waters else SkillName.POUR.value
    return (SkillStep(scene.argument, name),)


def aftermath(scene: Scene, *, runs: bool) -> tuple[Work, ...]:
    """What the device of a scene does to the things on and in it (HELPER-D6).

    A faucet that was just turned on washes and fills what is in its basin.
    """
    situation, device = scene.situation, scene.thing
    steps: list[Work] = []
    runs = runs and "faucet" in situation.affordances(device)
    for thing in situation.contents(device):
        name = scene.bindings.variable_of(thing) or scene.bindings.preset(
            thing, scene.bindings.label(thing, situation)
        )
        if runs:
            steps += [SkillStep(name, skill) for skill in _by_water(thing, situation)]
        elif (skill := situation.skill_at(thing)) is not None:
            steps.append(SkillStep(name, skill.name))
    inside = [one for one in situation.contents(device) if situation.shut_around(one) == device]
    if steps and inside:
        # Hands reach only into what is open; the device stays on meanwhile, and is shut again.
        opening, closing = (SkillStep(scene.variable, name) for name in _DOORS)
        return (opening, *steps, closing)
    return tuple(steps)


def emptying(scene: Scene) -> tuple[Work, ...]:
    """Takes everything from the thing of a scene, one after the other, to the nearest place."""
    situation, steps = scene.situation, list[Work]()
    for one in situation.contents(scene.thing):
        if not _is_directly(one, scene):
            continue
        steps += scene.calls(one, Method.PICKUP)
        place = situation.place_to_put_down(one, besides={scene.thing, *scene.full})
        if situation.piece(place) is None:
            steps += scene.calls(one, Method.PUT_DOWN)
        else:
            (placing,) = scene.calls(one, Method.PLACE)
            (going,) = scene.calls(place, Method.GO_TO)
            steps += [going, replace(placing, argument=going.variable)]
    return tuple(steps)


def _is_directly(thing: str, scene: Scene) -> bool:
    return scene.situation.facts.holders(thing)[:1] == (scene.thing,)


def _by_water(thing: str, situation: Situation) -> list[str]:
    """The skills by which running water changes a thing."""
    known = situation.affordances(thing)
    wash = "cleanable" in known and not situation.state(thing, "clean")
    fill = "fillable" in known and not situation.state(thing, "filled")
    return [*(["Clean"] if wash else []), *(["Fill"] if fill else [])]


def _to_water(skill: StateSkill, method: Method, scene: Scene) -> tuple[Work, ...]:
    """The walk to what the skill needs within reach; to a sink for washing (HELPER-3)."""
    situation = scene.situation
    water = Condition(what="a sink", affordances=("faucet",))
    need = skill.needs.near[0] if skill.needs.near else water
    places = situation.of_kind(need)
    if not places:
        if skill.needs.near:
            raise NoWayError(f"there is no {need.what} for {method}.")
        return ()
    if any(place == scene.at for place in places):
        return ()
    sinks = [one for one in places if situation.class_of(one) == "sink"]
    nearest = min(sinks or places, key=situation.distance_m)
    return scene.calls(nearest, Method.GO_TO)


def _at_device(skill: StateSkill, scene: Scene) -> tuple[Work, ...]:
    """Puts the thing on or into a device, switches it on and off, and takes the thing again."""
    situation, need = scene.situation, skill.needs.at[0]
    known = [one for one in situation.of_kind(need) if one != scene.thing]
    if not known:
        return _sought_device(skill, need, scene)
    device = min(known, key=lambda one: (*_unfitness(scene, one), one))
    name = scene.bindings.variable_of(device) or scene.bindings.preset(
        device, scene.bindings.label(device, situation)
    )
    steps: list[Work] = []
    if not situation.is_at_place(scene.thing, device):
        steps += [
            Invocation(scene.variable, Method.GO_TO),
            Invocation(scene.variable, Method.PICKUP),
            Invocation(name, Method.GO_TO),
            Invocation(scene.variable, Method.PLACE, name),
        ]
    steps += [
        Invocation(name, Method.TOGGLE_ON),
        SkillStep(scene.variable, skill.name),
        Invocation(name, Method.TOGGLE_OFF),
        Invocation(scene.variable, Method.GO_TO),
        Invocation(scene.variable, Method.PICKUP),
    ]
    label = scene.bindings.label(device, situation)
    goes_in = situation.facts.is_thing(scene.thing) and (
        situation.relation(scene.thing, device, label) is Relation.WITHIN
    )
    if goes_in and situation.is_open(device) is False:
        steps.append(Invocation(name, Method.CLOSE))
    return tuple(steps)


def _unfitness(scene: Scene, device: str) -> tuple[bool, bool, float]:
    situation = scene.situation
    label = scene.bindings.label(device, situation)
    relation = situation.relation(scene.thing, device, label)
    away = not situation.is_at_place(scene.thing, device)
    return (
        away,
        away and not situation.fits(scene.thing, relation, device),
        situation.distance_m(device),
    )


def _sought_device(skill: StateSkill, need: Condition, scene: Scene) -> tuple[Work, ...]:
    """A device that nobody has seen yet; the method is looked at again once it is known."""
    names = [scene.situation.vocabulary.name_of(word) for word in need.classes]
    found = next((name for name in names if name), None)
    if found is None:
        raise NoWayError(f"there is no {need.what} for {skill.name}.")
    variable = f"_{found.lower()}"
    return (
        Instance(variable, found),
        Invocation(variable, Method.GO_TO),
        Invocation(scene.variable, _method_of(skill)),
    )


def _method_of(skill: StateSkill) -> Method:
    return next(method for method, state in STATE_OF.items() if skill.sets.get(state))


# Statements that are several steps, and end states that an instance is wanted in.

_LEAVES_AS_IT_IS = frozenset(
    {Method.GO_TO, Method.SLICE, Method.OPEN, Method.CLOSE, *METHOD_OF.values()}
)
_BY_MACRO = frozenset({Method.CLEAN, Method.COOK, Method.TOAST, Method.FILL_UP})


def steps_of(work: Invocation, scene: Scene) -> tuple[Work, ...] | None:
    """The steps of a method that is several; None for one that is a single call.

    Raises:
        NoWayError: if nothing known can do what it needs.
    """
    if work.method is Method.PICKUP_AND_PLACE:
        return (
            Invocation(work.variable, Method.GO_TO),
            Invocation(work.variable, Method.PICKUP),
            Invocation(work.argument, Method.GO_TO),
            Invocation(work.variable, Method.PLACE, work.argument),
        )
    if work.method in (Method.TOGGLE_ON, Method.TOGGLE_OFF):
        known = scene.situation.affordances(scene.thing)
        if "faucet" not in known or "powerable" in known:
            return None
        # Water is what it does; nothing is left on.
        turned_on = work.method is Method.TOGGLE_ON
        return (Aftermath(work.variable, runs=True),) if turned_on else ()
    if work.method is Method.POUR:
        return pouring(scene)
    if work.method is Method.EMPTY:
        return emptying(scene)
    return changing(work.method, scene) if work.method in _BY_MACRO else None


def wanted_states(work: Invocation, scene: Scene) -> tuple[Work, ...]:
    """The method for an end state that a used instance is wanted in, and neither has nor gets."""
    if work.method in _LEAVES_AS_IT_IS:
        return ()
    for variable, entity in ((work.argument, scene.place), (work.variable, scene.thing)):
        binding = scene.bindings.by_variable.get(variable)
        if binding is None:
            continue
        for word in binding.instance.attributes:
            is_planned = METHOD_OF[word] in binding.methods
            if not is_planned and not scene.situation.state(entity, word):
                return (Invocation(variable, METHOD_OF[word]),)
    return ()


def renamed(statements: Sequence[Statement], prefix: str) -> tuple[Statement, ...]:
    """The statements of a repair with variables of their own.

    So that a repair does not bind the variables of the program anew.
    """
    found: list[Statement] = []
    for one in statements:
        match one:
            case Instance():
                found.append(replace(one, variable=_own(prefix, one.variable)))
            case Invocation():
                argument = _own(prefix, one.argument) if one.argument else ""
                variable = _own(prefix, one.variable)
                found.append(replace(one, variable=variable, argument=argument))
            case _:
                found.append(one)
    return tuple(found)


def _own(prefix: str, variable: str) -> str:
    return variable if is_own(variable) else f"_{prefix}_{variable}"


# The skill call of a step, and whether it is needed at all.

_SKILLS: Mapping[Method, str] = {
    Method.GO_TO: SkillName.NAVIGATE,
    Method.PICKUP: SkillName.PICK,
    Method.TOGGLE_ON: SkillName.POWER_ON,
    Method.TOGGLE_OFF: SkillName.POWER_OFF,
    Method.OPEN: SkillName.OPEN,
    Method.CLOSE: SkillName.CLOSE,
}


def call_of(work: Invocation | SkillStep, scene: Scene) -> SkillCall | None:
    """The call of a step that is a single one; None if a thing can be put down nowhere."""
    if isinstance(work, SkillStep):
        return SkillCall(work.skill, (scene.thing,))
    if work.method is Method.SLICE:
        name = next(s.name for s in default_state_skills().values() if s.divides)
        return SkillCall(name, (scene.thing,))
    if work.method is Method.PUT_DOWN:
        place = receptacle_for(scene)
        return _place(scene.thing, Relation.ON, place) if place else None
    if work.method is Method.PLACE:
        return _place(scene.thing, _relation(scene), scene.place)
    return SkillCall(_SKILLS[work.method], (scene.thing,))


def is_done_already(work: Invocation | SkillStep, scene: Scene) -> bool:
    """Whether what a step is for holds, so that nothing has to be done (HELPER-D7)."""
    situation, thing = scene.situation, scene.thing
    if isinstance(work, SkillStep):
        skill = state_skill(work.skill)
        return skill is not None and situation.has_states(thing, skill)
    match work.method:
        case Method.GO_TO:
            return scene.holds_it or scene.at == thing
        case Method.PICKUP:
            return scene.holds_it
        case Method.PUT_DOWN:
            return not scene.holds_it
        case Method.PLACE | Method.PICKUP_AND_PLACE:
            return situation.facts.spot(thing) == (_relation(scene), scene.place)
        case Method.TOGGLE_ON:
            return situation.state(thing, "powered_on")
        case Method.TOGGLE_OFF:
            known = situation.affordances(thing)
            return bool(known & {"powerable", "faucet"}) and not situation.state(
                thing, "powered_on"
            )
        case Method.OPEN:
            return situation.is_open(thing) is True
        case Method.CLOSE:
            return situation.is_open(thing) is False
        case Method.POUR:
            return situation.state(scene.place, "watered")
        case Method.EMPTY:
            return not situation.contents(thing)
        case Method.SLICE:
            return situation.state(thing, "sliced")
        case _:
            return is_true_already(work.method, thing, situation)


def _relation(scene: Scene) -> Relation:
    label = scene.bindings.label(scene.place, scene.situation)
    return scene.situation.relation(scene.thing, scene.place, label)


def _place(thing: str, relation: Relation, holder: str) -> SkillCall:
    return SkillCall(SkillName.PLACE, (thing, relation.value, holder, None, None))
