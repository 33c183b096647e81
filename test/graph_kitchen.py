"""A small VirtualHome graph: a kitchen with a fridge, a table, a bowl, apples, and a livingroom."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from planner.world.catalogue import default_catalogue
from planner.world.episode import AgentPlacement, Criteria, Episode
from planner.world.house import House
from planner.world.house_checks import load_house
from planner.world.vocabulary import AgentKind
from sim_bridge.graph.acting import Precondition, act, script_action
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld

KITCHEN, LIVING, FRIDGE, TABLE, BOWL, APPLE, PEAR, LAMP, ROBOT = 1, 2, 10, 11, 12, 13, 14, 15, 20

WALK_TO_APPLE = ("[walk] <kitchen> (1)", "[walk] <apple> (13)")
GRAB_APPLE = (*WALK_TO_APPLE, "<char0> [grab] <apple> (13)")
OPEN_FRIDGE = ("[walk] <fridge> (10)", "[open] <fridge> (10)")
APPLE_TO_FRIDGE = (*OPEN_FRIDGE, *GRAB_APPLE, "[walk] <fridge> (10)")
PUT_IN = "[putin] <apple> (13) <fridge> (10)"


def node(number: int, word: str, category: str = "Props", **more: Any) -> dict[str, Any]:
    """A node of a graph file."""
    return {"id": number, "class_name": word, "category": category, **more}


def edge(one: int, kind: str, other: int) -> dict[str, Any]:
    """An edge of a graph file."""
    return {"from_id": one, "relation_type": kind, "to_id": other}


def graph() -> dict[str, Any]:
    """A fresh copy, for tests that break it."""
    nodes = [
        node(KITCHEN, "kitchen", "Rooms"),
        node(LIVING, "livingroom", "Rooms"),
        node(FRIDGE, "fridge", properties=["CAN_OPEN", "CONTAINERS"], states=["CLOSED"]),
        node(TABLE, "kitchentable", properties=["SURFACES"]),
        node(BOWL, "bowl", properties=["GRABBABLE", "RECIPIENT"], states=["CLEAN"]),
        node(APPLE, "apple", properties=["GRABBABLE"]),
        node(PEAR, "pear", properties=["GRABBABLE"]),
        node(LAMP, "tablelamp", properties=["HAS_SWITCH"], states=["OFF"]),
        node(ROBOT, "character", "Characters"),
    ]
    edges = [
        edge(FRIDGE, "INSIDE", KITCHEN),
        edge(TABLE, "INSIDE", KITCHEN),
        edge(BOWL, "ON", TABLE),
        edge(APPLE, "INSIDE", BOWL),
        edge(PEAR, "INSIDE", FRIDGE),
        edge(LAMP, "INSIDE", LIVING),
        edge(ROBOT, "INSIDE", LIVING),
        edge(APPLE, "CLOSE", BOWL),
    ]
    return {"nodes": nodes, "edges": edges}


def written(folder: Path, document: dict[str, Any] | None = None) -> Path:
    """The graph, or another one, as a file."""
    path = folder / "home.json"
    path.write_text(json.dumps(document or graph()), encoding="utf-8")
    return path


def task(house: House, criteria: Criteria | None = None) -> Episode:
    """An episode with one robot that starts where the graph's character stands."""
    robot = AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT)
    return Episode(
        version=1,
        episode_id="task",
        house=house.name,
        instruction="",
        agents=(robot,),
        criteria=criteria,
    )


def world(
    folder: Path, document: dict[str, Any] | None = None, kind: AgentKind = AgentKind.ROBOT
) -> GraphWorld:
    """The graph's world; a person has two hands."""
    house = load_house(written(folder, document))
    agent = AgentPlacement(uid="agent_0", kind=kind)
    episode = task(house).model_copy(update={"agents": (agent,)})
    return GraphWorld(start_of(house, episode, default_catalogue()), episode)


def play(in_world: GraphWorld, *lines: str) -> list[Precondition | None]:
    """Carries script lines out; what each lacked."""
    return [act(in_world, "agent_0", script_action(line)) for line in lines]
