"""Seeded graphs like VirtualHome's and tasks like ET-Plan-Bench's, for benchmarks and tests.

Every category of ETPLAN-4.3, in the published layout, with a plan that solves it.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOMS = ("kitchen", "livingroom", "bedroom", "bathroom")
# Class, properties, initial state.
PIECES = (
    ("fridge", ("CAN_OPEN", "CONTAINERS", "HAS_SWITCH"), ("CLOSED", "ON")),
    ("microwave", ("CAN_OPEN", "CONTAINERS", "HAS_SWITCH"), ("CLOSED", "OFF")),
    ("kitchencabinet", ("CAN_OPEN", "CONTAINERS"), ("CLOSED",)),
    ("kitchentable", ("SURFACES",), ()),
    ("sofa", ("SURFACES", "SITTABLE"), ()),
    ("desk", ("SURFACES",), ()),
    ("bookshelf", ("SURFACES", "CONTAINERS"), ()),
    ("bathroomcounter", ("SURFACES",), ()),
    ("garbagecan", ("CONTAINERS",), ()),
    ("tvstand", ("SURFACES",), ()),
)
THINGS = (
    ("apple", ()),
    ("cupcake", ()),
    ("plum", ()),
    ("cellphone", ("HAS_SWITCH",)),
    ("book", ("CAN_OPEN",)),
    ("toothbrush", ()),
    ("crackers", ()),
    ("facecream", ()),
    ("milk", ()),
)
NESTS = ("mug", "dishbowl", "plate")
CATEGORIES = (
    "navi",
    "navi_relation",
    "navi_facing",
    "mani",
    "mani_relation",
    "multi",
    "two_arms",
    "temporal",
)


@dataclass
class Home:
    """A graph, and the nodes that its tasks use: (class, id) of each."""

    graph: dict[str, Any]
    rooms: list[tuple[str, int]] = field(default_factory=list)
    room_of: dict[int, tuple[str, int]] = field(default_factory=dict)
    places: list[tuple[str, int]] = field(default_factory=list)
    things: list[tuple[str, int]] = field(default_factory=list)
    nests: list[tuple[str, int]] = field(default_factory=list)
    place_of: dict[int, tuple[str, tuple[str, int]]] = field(default_factory=dict)


def home(rng: random.Random, things: int = 90) -> Home:
    """A home of four rooms with boxes for everything."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    made = Home({"nodes": nodes, "edges": edges})

    def node(word: str, category: str, at: tuple[float, float, float], **more: Any) -> int:
        number = len(nodes) + 1
        side = more.pop("side", 0.1)
        box = {"center": [at[0], at[2] + side / 2, at[1]], "size": [side] * 3}
        item = {"id": number, "class_name": word, "category": category, "bounding_box": box}
        nodes.append(item | more)
        return number

    def edge(one: int, kind: str, other: int) -> None:
        edges.append({"from_id": one, "relation_type": kind, "to_id": other})

    for index, word in enumerate(ROOMS):
        number = node(word, "Rooms", (8.0 * index, 0.0, 0.0), side=8.0)
        made.rooms.append((word, number))
        if index:
            door = node("door", "Doors", (8.0 * index - 4, 0.0, 0.0), side=1.0, states=["OPEN"])
            nodes[door - 1]["properties"] = ["CAN_OPEN"]
            edge(door, "BETWEEN", number)
            edge(door, "BETWEEN", made.rooms[-2][1])
    for index, room in enumerate(made.rooms):
        for k, (word, properties, states) in enumerate(rng.sample(PIECES, len(PIECES))):
            at = (8.0 * index - 3.2 + 1.5 * (k % 5), -2.5 + 5.0 * (k // 5), 0.0)
            more = {"properties": list(properties), "states": list(states), "side": 0.9}
            number = node(word, "Furniture", at, **more)
            edge(number, "INSIDE", room[1])
            made.places.append((word, number))
            made.room_of[number] = room
    opens = {number for word, number in made.places if _opens(word)}
    for index in range(things):
        nests = index % 6 == 0
        word, properties = (rng.choice(NESTS), ()) if nests else rng.choice(THINGS)
        place = rng.choice(made.places)
        box = nodes[place[1] - 1]["bounding_box"]["center"]
        at = (box[0] + rng.uniform(-0.3, 0.3), box[2] + rng.uniform(-0.3, 0.3), 0.9)
        extra = ["RECIPIENT"] if nests else []
        number = node(word, "Props", at, properties=["GRABBABLE", *properties, *extra])
        kind = "INSIDE" if place[1] in opens or place[0] == "garbagecan" else "ON"
        edge(number, kind, place[1])
        edge(number, "INSIDE", made.room_of[place[1]][1])
        made.room_of[number] = made.room_of[place[1]]
        made.place_of[number] = (kind, place)
        (made.nests if nests else made.things).append((word, number))
    robot = node("character", "Characters", (0.0, 0.0, 0.0))
    edge(robot, "INSIDE", made.rooms[0][1])
    return made


def _opens(word: str) -> bool:
    return any(word == name and "CAN_OPEN" in properties for name, properties, _ in PIECES)


class Tasks:
    """Tasks in one home, generated one after another."""

    def __init__(self, made: Home, rng: random.Random) -> None:
        self.home, self._rng = made, rng

    def task(self, category: str) -> dict[str, Any]:
        """A line of a task file."""
        thing, other = self._rng.sample(self.home.things, 2)
        nest = self._rng.choice(self.home.nests)
        if category == "navi":
            return self._line(category, [("CLOSE", "robot", thing)], self._go(thing))
        if category == "navi_relation":
            kind, place = self.home.place_of[thing[1]]
            goals = [("CLOSE", "robot", thing), (kind, thing, place)]
            return self._line(category, goals, self._go(thing))
        if category == "navi_facing":
            return self._line(category, self._faced(thing), self._go(thing))
        if category == "temporal":
            kind, place = self._target(nest)
            first = [("CLOSE", "robot", thing), ("CLOSE", "robot", nest), ("INSIDE", thing, nest)]
            last = [("CLOSE", "robot", place), (kind, nest, place), ("INSIDE", thing, nest)]
            plan = [*self._opened(self.home.place_of[nest[1]][1]), *self._opened(place)]
            plan += [*self._fetch(thing), *self._put(thing, "INSIDE", nest)]
            plan += [*self._fetch(nest), *self._put(nest, kind, place)]
            return self._line(category, last, plan, first)
        kind, place = self._target(thing, other)
        moved = [thing, other] if category in ("multi", "two_arms") else [thing]
        goals = [("CLOSE", "robot", place), *((kind, each, place) for each in moved)]
        if category == "mani_relation":
            goals.append(("INSIDE", place, self.home.room_of[place[1]]))
        plan = self._opened(place)
        if category == "two_arms":
            # A hand opens, so that everything is open before both are full.
            for each in moved:
                plan += self._opened(self.home.place_of[each[1]][1])
            for each in moved:
                plan += self._fetch(each)
            for each in moved:
                plan += self._put(each, kind, place)
            return self._line(category, goals, plan)
        for each in moved:
            plan += [*self._fetch(each), *self._put(each, kind, place)]
        return self._line(category, goals, plan)

    def _faced(self, thing: tuple[str, int]) -> list[tuple[Any, ...]]:
        """What is asked of a thing that faces the nearest other furniture of its room."""
        centers = {n["id"]: n["bounding_box"]["center"] for n in self.home.graph["nodes"]}
        room, own = self.home.room_of[thing[1]], self.home.place_of[thing[1]][1]
        near = min(
            (
                place
                for place in self.home.places
                if place != own and self.home.room_of[place[1]] == room
            ),
            key=lambda place: math.dist(centers[place[1]], centers[thing[1]]),
        )
        return [("CLOSE", "robot", thing), ("FACING", thing, near)]

    def _target(self, *things: tuple[str, int]) -> tuple[str, tuple[str, int]]:
        """A place with none of these things, and whose class holds none of their class."""
        own = {self.home.place_of[number][1][0] for _, number in things}
        place = self._rng.choice([p for p in self.home.places if p[0] not in own])
        inside = _opens(place[0]) or place[0] == "garbagecan"
        return ("INSIDE" if inside else "ON"), place

    def _walk(self, what: tuple[str, int]) -> list[tuple[Any, ...]]:
        room = self.home.room_of[what[1]]
        return [("walk", room), ("walk", what)]

    def _opened(self, place: tuple[str, int]) -> list[tuple[Any, ...]]:
        return [*self._walk(place), ("open", place)] if _opens(place[0]) else []

    def _go(self, thing: tuple[str, int]) -> list[tuple[Any, ...]]:
        _, place = self.home.place_of[thing[1]]
        return [*(self._opened(place) or self._walk(thing)[:1]), ("walk", thing)]

    def _fetch(self, thing: tuple[str, int]) -> list[tuple[Any, ...]]:
        return [*self._go(thing), ("grab", thing)]

    def _put(
        self, thing: tuple[str, int], kind: str, place: tuple[str, int]
    ) -> list[tuple[Any, ...]]:
        return [*self._walk(place), ("putin" if kind == "INSIDE" else "put", thing, place)]

    def _line(
        self,
        category: str,
        goals: list[tuple[Any, ...]],
        plan: list[tuple[Any, ...]],
        before: list[tuple[Any, ...]] | None = None,
    ) -> dict[str, Any]:
        def text(triples: list[tuple[Any, ...]]) -> str:
            words = [[w if isinstance(w, str) else w[0] for w in triple] for triple in triples]
            return "".join(f"({', '.join(triple)})" for triple in words)

        lines = [
            f"<char0> [{verb}] " + " ".join(f"<{word}> ({number})" for word, number in arguments)
            for verb, *arguments in self._once(plan)
        ]
        asked = f"STEP_1: {text(before)} STEP_2: {text(goals)}" if before else text(goals)
        return {
            "task": f"{category}: {asked}",
            "task_completion_criterion": asked,
            "env_id": 0,
            "ground_truth_plan": lines,
        }

    def _once(self, plan: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """The plan without redundant openings, and with free hands when something is opened."""
        opened: set[int] = set()
        kept = []
        for step in plan:
            if step[0] == "open":
                if step[1][1] in opened:
                    continue
                opened.add(step[1][1])
            kept.append(step)
        return kept


def write_tasks(folder: Path, count: int, seed: int = 1) -> tuple[Path, Path]:
    """A home's graph and a file of `count` tasks in it, of all categories in turn."""
    rng = random.Random(seed)
    made = home(rng)
    tasks = Tasks(made, rng)
    graph, lines = folder / "home.json", folder / "tasks.jsonl"
    graph.write_text(json.dumps(made.graph), encoding="utf-8")
    rows = (json.dumps(tasks.task(CATEGORIES[i % len(CATEGORIES)])) for i in range(count))
    lines.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return graph, lines
