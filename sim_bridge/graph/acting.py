"""VirtualHome's actions in a graph world: their preconditions and effects (ETPLAN-3.1)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from planner.world.errors import PlannerError
from planner.world.floor_grid import Point, length_m, stopped
from planner.world.geometry import Vec3
from planner.world.graph_file import word_of
from planner.world.receptacle import spot_at_piece, spot_at_thing, spread
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name
from sim_bridge.graph.scene import Node, Posture
from sim_bridge.graph.world import Agent, GraphWorld

# VirtualHome's actions, and their preconditions by name (ETPLAN-3.1).


class Verb(StrEnum):
    """What an agent can do in the graph world."""

    WALK = "WALK"
    FIND = "FIND"
    TURNRIGHT = "TURNRIGHT"
    TURNLEFT = "TURNLEFT"
    TURNTO = "TURNTO"
    OPEN = "OPEN"
    CLOSE = "CLOSE"
    GRAB = "GRAB"
    PUT = "PUT"
    PUTIN = "PUTIN"
    PUTOBJBACK = "PUTOBJBACK"
    DROP = "DROP"
    POUR = "POUR"
    SWITCHON = "SWITCHON"
    SWITCHOFF = "SWITCHOFF"
    PLUGIN = "PLUGIN"
    PLUGOUT = "PLUGOUT"
    WIPE = "WIPE"
    SIT = "SIT"
    LIE = "LIE"
    STANDUP = "STANDUP"
    SLEEP = "SLEEP"
    WAKEUP = "WAKEUP"
    LOOKAT = "LOOKAT"
    POINTAT = "POINTAT"
    WATCH = "WATCH"
    GREET = "GREET"
    TOUCH = "TOUCH"
    TYPE = "TYPE"
    PUSH = "PUSH"
    PULL = "PULL"
    MOVE = "MOVE"
    SQUEEZE = "SQUEEZE"
    DRINK = "DRINK"
    EAT = "EAT"
    READ = "READ"
    CUT = "CUT"


class Precondition(StrEnum):
    """Preconditions of actions; the first violated one is reported."""

    EXISTS = "exists"
    REACHABLE = "reachable"
    NEAR = "close"
    FREE_HAND = "free hand"
    GRABBABLE = "grabbable"
    NOT_HELD = "not held"
    HELD = "held"
    OPENABLE = "openable"
    IS_OPEN = "open"
    IS_CLOSED = "closed"
    CONTAINER_OPEN = "container open"
    CAN_HOLD = "can hold"
    HAS_SWITCH = "has switch"
    HAS_PLUG = "has plug"
    IS_PLUGGED_IN = "plugged in"
    IS_PLUGGED_OUT = "plugged out"
    CLEANABLE = "cleanable"
    STANDING = "standing"
    SEATED = "sitting or lying"
    SAME_ROOM = "same room"
    MADE_FOR_IT = "made for it"
    TOOL_HELD = "knife held"


class Need(StrEnum):
    """Where a thing has to be for an action that changes nothing."""

    HELD = "held"
    NEAR = "near"
    SAME_ROOM = "same room"


@dataclass(frozen=True, slots=True)
class Deed:
    """An action that changes no state of the world.

    Attributes:
        need: where its target has to be.
        properties: VirtualHome's, of which the target has one; none asked for if empty.
        classes: that may be without the property.
    """

    need: Need
    properties: frozenset[str] = frozenset()
    classes: frozenset[str] = frozenset()


_SQUEEZED = """
    check cleaning_solution dish_soap food_lemon food_peanut_butter paper rag shampoo soap sponge
    tooth_paste towel
"""
# As VirtualHome's own executor has them. It asks besides that what is looked at is faced; here
# looking turns to it.
DEEDS: Mapping[Verb, Deed] = {
    Verb.LOOKAT: Deed(Need.SAME_ROOM),
    Verb.POINTAT: Deed(Need.SAME_ROOM),
    Verb.WATCH: Deed(Need.SAME_ROOM, frozenset({"LOOKABLE"})),
    Verb.GREET: Deed(Need.SAME_ROOM, frozenset({"PERSON"}), frozenset({"character"})),
    Verb.TOUCH: Deed(Need.NEAR),
    Verb.TYPE: Deed(Need.NEAR, frozenset({"HAS_SWITCH"}), frozenset({"keyboard"})),
    Verb.PUSH: Deed(Need.NEAR),
    Verb.PULL: Deed(Need.NEAR, frozenset({"MOVABLE"}), frozenset({"button", "chair", "curtain"})),
    Verb.MOVE: Deed(Need.NEAR, frozenset({"MOVABLE"}), frozenset({"button", "chair", "curtain"})),
    Verb.SQUEEZE: Deed(Need.NEAR, frozenset({"CLOTHES"}), frozenset(_SQUEEZED.split())),
    Verb.DRINK: Deed(Need.HELD, frozenset({"DRINKABLE", "RECIPIENT"})),
    Verb.READ: Deed(Need.HELD, frozenset({"READABLE"})),
    Verb.EAT: Deed(Need.NEAR, frozenset({"EATABLE"})),
    Verb.CUT: Deed(Need.NEAR, frozenset({"CUTTABLE"})),
}
# The property of what an agent sits or lies on.
SEATS: Mapping[Verb, str] = {Verb.SIT: "SITTABLE", Verb.LIE: "LIEABLE"}


@dataclass(frozen=True, slots=True)
class Action:
    """One action of one agent; `target` and `place` are names of nodes."""

    verb: Verb
    target: str = ""
    place: str = ""


# A number is a node's id, in programs after how often its class was named: (319) or (1.319).
_NUMBER = r"\((?:\d{1,9}\.)?(\d{1,9})\)"
_LINE = re.compile(
    r"^\s*(?:<char\d+>\s*)?\[(\w{1,20})\]"
    r"((?:\s*<[^<>]{1,80}>\s*\((?:\d{1,9}\.)?\d{1,9}\))*)\s*(?:\[[\d.]{1,20}\])?\s*$"
)
_ARGUMENT = re.compile(r"<([^<>]{1,80})>\s*" + _NUMBER)
_ALIASES = {
    "PUTBACK": Verb.PUT,
    "PUTON": Verb.PUT,
    "WASH": Verb.WIPE,
    "RINSE": Verb.WIPE,
    "SCRUB": Verb.WIPE,
    "RUN": Verb.WALK,
    "RELEASE": Verb.DROP,
}
_NONE = (Verb.TURNLEFT, Verb.TURNRIGHT, Verb.STANDUP, Verb.SLEEP, Verb.WAKEUP)
_ARGUMENTS = {**dict.fromkeys(_NONE, 0), Verb.PUT: 2, Verb.PUTIN: 2, Verb.POUR: 2}


def script_action(line: str) -> Action:
    """Parses a script line, such as `<char0> [putin] <apple> (211) <fridge> (103)`.

    Raises:
        PlannerError: if it is not a script line, or not an action of this world.
    """
    match = _LINE.match(line[:500])
    if match is None:
        raise PlannerError(f"{line[:60]!r} is not a script line")
    word = match[1].upper()
    names = [f"{word_of(word)}_{number}" for word, number in _ARGUMENT.findall(match[2])]
    if word == "PUTOFF" or (word == "PUTON" and len(names) == 1):
        raise PlannerError(f"{line[:60]!r}: {word}: nobody wears clothes in this world")
    verb = _ALIASES.get(word) or (Verb(word) if word in set(Verb) else None)
    if verb is None:
        raise PlannerError(f"{line[:60]!r}: there is no action {word}")
    expected = _ARGUMENTS.get(verb, 1)
    if len(names) != expected:
        raise PlannerError(f"{line[:60]!r}: {verb} takes {expected} arguments, got {len(names)}")
    return Action(verb, *names)


# VirtualHome's CLOSE: from the centre of one to the box of the other, seen from above.
CLOSE_M = 1.5
TURN_RAD = math.radians(30)
_TURNS = {Verb.TURNLEFT: TURN_RAD, Verb.TURNRIGHT: -TURN_RAD}
_POSTURES = {Verb.SIT: Posture.SITTING, Verb.LIE: Posture.LYING}
_STATES = {
    Verb.WIPE: ("clean", True),
    Verb.SWITCHON: ("powered_on", True),
    Verb.SWITCHOFF: ("powered_on", False),
}


def act(world: GraphWorld, agent: str, action: Action) -> Precondition | None:
    """Executes an action at once; returns the violated precondition if it failed without effect.

    Raises:
        PlannerError: for an unknown agent.
    """
    who = world.agent(agent)
    missing = first_missing(world, who, action)
    if missing is None:
        apply(world, who, action)
    return missing


def first_missing(world: GraphWorld, who: Agent, action: Action) -> Precondition | None:
    """The first violated precondition of an action; None if there is none."""
    verb, name = action.verb, action.target
    if verb in _TURNS:
        return None
    if verb in (Verb.STANDUP, Verb.SLEEP, Verb.WAKEUP):
        return None if who.rest is not None else Precondition.SEATED
    to_agent = name in world.agents and verb in (Verb.WALK, Verb.TURNTO, Verb.GREET)
    if name not in world.nodes and not to_agent:
        return Precondition.EXISTS
    if verb is Verb.FIND:
        return _find_lacks(world, who, name)
    if verb is Verb.WALK:
        return _walk_lacks(world, who, name)
    if verb is Verb.GRAB:
        return _grab_lacks(world, who, name)
    if verb in (Verb.PUT, Verb.PUTIN, Verb.POUR):
        return _put_lacks(world, who, action)
    if verb in (Verb.DROP, Verb.PUTOBJBACK):
        return _put_back_lacks(world, who, action)
    if verb in DEEDS:
        return _deed_lacks(world, who, action, DEEDS[verb])
    return None if verb is Verb.TURNTO else _change_lacks(world, who, world.nodes[name], verb)


def _find_lacks(world: GraphWorld, who: Agent, name: str) -> Precondition | None:
    """What finding lacks: it is walking to what is not close."""
    if _is_near(world, who, name):
        return None
    return Precondition.NEAR if who.rest is not None else _walk_lacks(world, who, name)


def _walk_lacks(world: GraphWorld, who: Agent, name: str) -> Precondition | None:
    if who.rest is not None:
        return Precondition.STANDING
    held = world.enclosing(name) is not None
    return Precondition.REACHABLE if held or world.way(who, name) is None else None


def _change_lacks(world: GraphWorld, who: Agent, node: Node, verb: Verb) -> Precondition | None:
    """What an action lacks that changes its target's state, or the agent's posture."""
    if verb in (Verb.OPEN, Verb.CLOSE):
        return _opening_lacks(world, who, node, verb)
    if verb in SEATS:
        if SEATS[verb] not in node.properties:
            return Precondition.MADE_FOR_IT
        if who.rest is not None and who.rest[0] is _POSTURES[verb]:
            return Precondition.STANDING
    elif verb in (Verb.PLUGIN, Verb.PLUGOUT):
        plugged = world.is_plugged_in(node.name)
        if plugged is None:
            return Precondition.HAS_PLUG
        if plugged is (verb is Verb.PLUGIN):
            return Precondition.IS_PLUGGED_OUT if plugged else Precondition.IS_PLUGGED_IN
        if None not in who.hands:
            return Precondition.FREE_HAND
    else:
        state = "clean" if verb is Verb.WIPE else "powered_on"
        if default_states().affordance_of[state] not in node.affordances:
            return Precondition.CLEANABLE if verb is Verb.WIPE else Precondition.HAS_SWITCH
        if verb is Verb.SWITCHON and world.is_plugged_in(node.name) is False:
            return Precondition.IS_PLUGGED_IN
    return None if _is_near(world, who, node.name) else Precondition.NEAR


def _deed_lacks(world: GraphWorld, who: Agent, action: Action, deed: Deed) -> Precondition | None:
    """What an action lacks that changes nothing."""
    name = action.target
    node = world.nodes.get(name)
    names = (name, *world.contents_of(name)) if action.verb is Verb.EAT else (name,)
    fit = {word for each in names if each in world.nodes for word in world.nodes[each].properties}
    named = node is None or node.class_name in deed.classes
    if deed.properties and not named and not deed.properties & fit:
        return Precondition.MADE_FOR_IT
    if deed.need is Need.HELD:
        return None if name in who.hands else Precondition.HELD
    if world.enclosing(name) is not None:
        return Precondition.CONTAINER_OPEN
    if deed.need is Need.SAME_ROOM:
        return None if world.room_of(name) == who.room else Precondition.SAME_ROOM
    if action.verb is Verb.CUT and not any("knife" in held for held in who.hands if held):
        return Precondition.TOOL_HELD
    return None if _is_near(world, who, name) else Precondition.NEAR


def _is_near(world: GraphWorld, who: Agent, name: str) -> bool:
    if world.gap_to_m((who.x_m, who.y_m), name) < CLOSE_M and world.room_of(name) == who.room:
        return True
    node = world.nodes.get(name)
    if node is not None and "BODY_PART" in node.properties:
        return True
    return world.is_told_close(who, name)


def _grab_lacks(world: GraphWorld, who: Agent, name: str) -> Precondition | None:
    if world.nodes[name].kind is not EntityKind.OBJECT:
        return Precondition.GRABBABLE
    if world.relation_of(name) is Relation.HELD:
        return Precondition.NOT_HELD
    if world.enclosing(name) is not None:
        return Precondition.CONTAINER_OPEN
    if not _is_near(world, who, name):
        return Precondition.NEAR
    return None if None in who.hands else Precondition.FREE_HAND


def _put_lacks(world: GraphWorld, who: Agent, action: Action) -> Precondition | None:
    name, place = action.target, action.place
    if name not in who.hands:
        return Precondition.HELD
    node = world.nodes.get(place)
    if node is None:
        return Precondition.EXISTS
    if world.carries(name, place):
        return Precondition.CAN_HOLD
    if node.kind is EntityKind.ROOM:
        if action.verb is not Verb.PUT:
            return Precondition.CAN_HOLD
        return None if who.room == place else Precondition.NEAR
    if not _is_near(world, who, place):
        return Precondition.NEAR
    closed = node.opens and not world.is_open(place)
    if (action.verb is Verb.PUTIN and closed) or world.enclosing(place) is not None:
        return Precondition.CONTAINER_OPEN
    return None


def _put_back_lacks(world: GraphWorld, who: Agent, action: Action) -> Precondition | None:
    """What dropping lacks, and putting a thing back where it was grabbed."""
    if action.target not in who.hands:
        return Precondition.HELD
    if action.verb is Verb.DROP:
        return None
    back = _back(who, action.target)
    return Precondition.EXISTS if back is None else _put_lacks(world, who, back)


def _back(who: Agent, name: str) -> Action | None:
    """Putting a thing where it was grabbed; None if it was held from the start."""
    place = who.took_from.get(name)
    if place is None:
        return None
    relation, parent = place
    return Action(Verb.PUTIN if relation is Relation.WITHIN else Verb.PUT, name, parent)


def _opening_lacks(world: GraphWorld, who: Agent, node: Node, verb: Verb) -> Precondition | None:
    if not node.opens:
        return Precondition.OPENABLE
    if world.is_open(node.name) is (verb is Verb.OPEN):
        return Precondition.IS_CLOSED if verb is Verb.OPEN else Precondition.IS_OPEN
    if not _is_near(world, who, node.name):
        return Precondition.NEAR
    free = verb is Verb.CLOSE or None in who.hands
    return None if free else Precondition.FREE_HAND


def apply(world: GraphWorld, who: Agent, action: Action) -> None:
    """Applies an action's effects without checking its preconditions."""
    verb, name = action.verb, action.target
    if verb in _TURNS:
        _turn(world, who, who.yaw_rad + _TURNS[verb])
    elif verb is Verb.WALK or (verb is Verb.FIND and not _is_near(world, who, name)):
        _walk(world, who, name)
    elif verb is Verb.FIND:
        who.went_to.add(name)
    elif verb is Verb.GRAB:
        _grab(world, who, name)
    elif verb in (Verb.PUT, Verb.PUTIN, Verb.POUR, Verb.DROP, Verb.PUTOBJBACK):
        _put(world, who, action)
    elif verb in (Verb.OPEN, Verb.CLOSE):
        world.set_open(name, opened=verb is Verb.OPEN)
    elif verb in _POSTURES:
        who.rest = (_POSTURES[verb], name)
    elif verb is Verb.STANDUP:
        who.rest = None
    elif verb in (Verb.PLUGIN, Verb.PLUGOUT):
        world.set_plugged(name, plugged=verb is Verb.PLUGIN)
    elif verb in _STATES:
        state, value = _STATES[verb]
        world.set_state(name, state, value=value)
    elif verb is Verb.TURNTO or (verb in DEEDS and DEEDS[verb].need is Need.SAME_ROOM):
        x, y = world.position_m(name)[:2]
        if math.dist((x, y), (who.x_m, who.y_m)) > 1e-9:
            _turn(world, who, math.atan2(y - who.y_m, x - who.x_m))


def _turn(world: GraphWorld, who: Agent, yaw_rad: float) -> None:
    world.move(who, who.x_m, who.y_m, math.remainder(yaw_rad, math.tau), who.room)


def _walk(world: GraphWorld, who: Agent, name: str) -> None:
    way = world.way(who, name)
    room = world.room_of(name)
    if way is None or room is None:
        raise ValueError(f"there is no way to {name}")
    here = (who.x_m, who.y_m)
    before = way[-2] if len(way) > 1 else here
    end = stop_before(world, before, way[-1], name)
    way = (*way[:-1], end)
    world.walked_m[who.name] += length_m(here, way)
    tx, ty = world.position_m(name)[:2]
    moved = math.hypot(tx - end[0], ty - end[1]) > 1e-9
    yaw = math.atan2(ty - end[1], tx - end[0]) if moved else who.yaw_rad
    world.move(who, end[0], end[1], yaw, room)
    _arrive(world, who, name)


def _arrive(world: GraphWorld, who: Agent, name: str) -> None:
    """Notes what an agent is close to that walked to an entity: it, its place and its content."""
    node, place = world.nodes.get(name), world.place_of(name)
    who.went_to.clear()
    if node is None or node.kind is EntityKind.ROOM:
        return
    who.went_to.add(name)
    if place is not None and place[1] in world.nodes:
        who.went_to.add(place[1])
    if node.opens:
        who.went_to.update(world.contents_of(name))


def stop_before(world: GraphWorld, start: Point, goal: Point, name: str) -> Point:
    """Where a straight walk from `start` to an entity's centre stops."""
    node = world.nodes.get(name)
    if node is not None and node.kind is EntityKind.ROOM:
        return goal
    return stopped(start, goal, lambda point: world.gap_to_m(point, name))


def _grab(world: GraphWorld, who: Agent, name: str) -> None:
    place = world.place_of(name)
    if place is not None:
        relation, parent = place
        who.took_from[name] = (relation, parent.removeprefix("floor_"))
        who.went_to.update({parent} & set(world.nodes))
    world.take(who, name)


def _put(world: GraphWorld, who: Agent, action: Action) -> None:
    """Puts a thing down; what is poured out but water stays in the hand, with the rest of it."""
    verb, name, place = action.verb, action.target, action.place
    back = _back(who, name) if verb is Verb.PUTOBJBACK else None
    if back is not None:
        verb, place = back.verb, back.place
    elif verb is Verb.DROP:
        verb, place = Verb.PUT, who.room
    elif verb is Verb.POUR and world.nodes[name].class_name != "water":
        return
    relation = Relation.ON if verb is Verb.PUT else Relation.WITHIN
    node = world.nodes[place]
    parent = floor_name(node.name) if node.kind is EntityKind.ROOM else node.name
    world.put(who, name, (relation, parent), _free_spot(world, who, name, node, relation))
    if node.kind is not EntityKind.ROOM:
        who.went_to.add(place)


def _free_spot(world: GraphWorld, who: Agent, thing: str, node: Node, relation: Relation) -> Vec3:
    """The position of the next thing on or in a node: in `map`, or from a thing's underside."""
    number = world.next_spot()
    if node.piece is not None:
        return spot_at_piece(number, node.piece, relation, world.nodes[thing].size_m)
    if node.kind is EntityKind.OBJECT:
        graph = world.start.house.graph is not None
        return spot_at_thing(number, node.class_name, node.size_m, relation, of_graph=graph)
    u, v = spread(number)
    return (who.x_m + 0.8 * u, who.y_m + 0.8 * v, 0.0)
