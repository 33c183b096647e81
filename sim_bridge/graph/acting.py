"""Actions in a graph world, with their preconditions and effects (ETPLAN-3.1)."""

from __future__ import annotations

import math

from planner.world.geometry import Vec3
from planner.world.put_spots import spot_at_piece, spot_at_thing, spread
from planner.world.room_ways import Point, length_m, stopped
from planner.world.states import default_states
from planner.world.vocabulary import EntityKind, Relation, floor_name
from sim_bridge.graph.actions import Action, Precondition, Verb
from sim_bridge.graph.scene import Node
from sim_bridge.graph.world import Agent, GraphWorld

# VirtualHome's CLOSE: from the centre of one to the box of the other, seen from above.
CLOSE_M = 1.5
TURN_RAD = math.radians(30)


def act(world: GraphWorld, agent: str, action: Action) -> Precondition | None:
    """Executes an action at once; returns the violated precondition if it failed without effect.

    Raises:
        PlannerError: for an unknown agent.
    """
    who = world.agent(agent)
    if action.verb in (Verb.TURNLEFT, Verb.TURNRIGHT):
        turn = TURN_RAD if action.verb is Verb.TURNLEFT else -TURN_RAD
        world.move(who, who.x_m, who.y_m, math.remainder(who.yaw_rad + turn, math.tau), who.room)
        return None
    missing = first_missing(world, who, action)
    if missing is None:
        apply(world, who, action)
    return missing


def first_missing(world: GraphWorld, who: Agent, action: Action) -> Precondition | None:
    """The first violated precondition of an action; None if there is none."""
    verb, name = action.verb, action.target
    if name not in world.nodes and not (verb is Verb.WALK and name in world.agents):
        return Precondition.EXISTS
    if verb is Verb.WALK:
        held = world.enclosing(name) is not None
        return Precondition.REACHABLE if held or world.way(who, name) is None else None
    if verb is Verb.GRAB:
        return _grab_lacks(world, who, name)
    if verb in (Verb.PUT, Verb.PUTIN):
        return _put_lacks(world, who, action)
    node = world.nodes[name]
    if verb in (Verb.OPEN, Verb.CLOSE):
        return _opening_lacks(world, who, node, verb)
    state = "clean" if verb is Verb.WIPE else "powered_on"
    if default_states().affordance_of[state] not in node.affordances:
        return Precondition.CLEANABLE if verb is Verb.WIPE else Precondition.HAS_SWITCH
    return None if _is_near(world, who, name) else Precondition.NEAR


def _is_near(world: GraphWorld, who: Agent, name: str) -> bool:
    return world.gap_to_m((who.x_m, who.y_m), name) < CLOSE_M and world.room_of(name) == who.room


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
        if action.verb is Verb.PUTIN:
            return Precondition.CAN_HOLD
        return None if who.room == place else Precondition.NEAR
    if not _is_near(world, who, place):
        return Precondition.NEAR
    closed = node.opens and not world.is_open(place)
    if (action.verb is Verb.PUTIN and closed) or world.enclosing(place) is not None:
        return Precondition.CONTAINER_OPEN
    return None


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
    if verb is Verb.WALK:
        _walk(world, who, name)
    elif verb is Verb.GRAB:
        world.take(who, name)
    elif verb in (Verb.PUT, Verb.PUTIN):
        relation = Relation.ON if verb is Verb.PUT else Relation.WITHIN
        node = world.nodes[action.place]
        parent = floor_name(node.name) if node.kind is EntityKind.ROOM else node.name
        world.put(who, name, (relation, parent), _free_spot(world, who, name, node, relation))
    elif verb in (Verb.OPEN, Verb.CLOSE):
        world.set_open(name, opened=verb is Verb.OPEN)
    else:
        state = "clean" if verb is Verb.WIPE else "powered_on"
        world.set_state(name, state, value=verb is not Verb.SWITCHOFF)


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


def stop_before(world: GraphWorld, start: Point, goal: Point, name: str) -> Point:
    """Where a straight walk from `start` to an entity's centre stops."""
    node = world.nodes.get(name)
    if node is not None and node.kind is EntityKind.ROOM:
        return goal
    return stopped(start, goal, lambda point: world.gap_to_m(point, name))


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
