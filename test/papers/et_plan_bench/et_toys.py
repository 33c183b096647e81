"""Small graphs and a ranker that says what a test tells it, for runs of the agent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from papers.et_plan_bench.agent import AgentOptions, EtAgent
from papers.et_plan_bench.parts import Ranker, RankerName, TaskClass
from papers.et_plan_bench.rankers import class_of
from planner.app.embedded_run import prepare_graph
from planner.app.run import RunResult
from planner.app.run_options import RunOptions
from planner.planning.errands import Errand, read_errands
from planner.world.episode import AgentPlacement, Criteria, Episode
from planner.world.graph_file import Graph
from planner.world.graph_house import house_of_graph
from planner.world.house import House
from planner.world.vocabulary import AgentKind
from sim_bridge.graph.backend import GraphBackend


class Toy:
    """A row of rooms, 8 m each, with furniture and things; the agent starts in the first."""

    def __init__(self, *rooms: str) -> None:
        self._nodes: list[dict[str, Any]] = []
        self._edges: list[dict[str, Any]] = []
        self._at: dict[str, tuple[float, float]] = {}
        self._room_of: dict[str, str] = {}
        for index, word in enumerate(rooms):
            self._node(word, "Rooms", (8.0 * index, 0.0), 8.0)
        self._edge(
            self._node("character", "Characters", (0.0, 0.0), 0.1), "INSIDE", f"{rooms[0]}_1"
        )

    def piece(
        self,
        word: str,
        room: str,
        at: tuple[float, float],
        *,
        closed: bool | None = None,
        top: bool = False,
    ) -> str:
        """Furniture at a place relative to its room's middle.

        `closed` if it opens at all; `top` if it then also has a surface.
        """
        middle = self._at[room]
        properties = ["SURFACES"] if closed is None else ["CAN_OPEN", "CONTAINERS"]
        properties += ["SURFACES"] if top else []
        states = [] if closed is None else ["CLOSED" if closed else "OPEN"]
        name = self._node(
            word,
            "Furniture",
            (middle[0] + at[0], middle[1] + at[1]),
            0.8,
            properties=properties,
            states=states,
        )
        self._edge(name, "INSIDE", room)
        self._room_of[name] = room
        return name

    def thing(self, word: str, how: str, place: str, *, hollow: bool = False) -> str:
        """A thing ON or INSIDE furniture or another thing; `hollow` if it takes others."""
        x, y = self._at[place]
        properties = ["GRABBABLE", "RECIPIENT"] if hollow else ["GRABBABLE"]
        # Side by side.
        at = (x + 0.12 * (len(self._nodes) % 3) - 0.12, y)
        name = self._node(word, "Props", at, 0.1, properties=properties)
        self._edge(name, how, place)
        self._room_of[name] = self._room_of[place]
        self._edge(name, "INSIDE", self._room_of[place])
        return name

    def house(self) -> House:
        """The house."""
        graph = Graph.model_validate({"nodes": self._nodes, "edges": self._edges})
        return house_of_graph(graph, "toy")

    def _node(
        self, word: str, category: str, at: tuple[float, float], side: float, **more: Any
    ) -> str:
        number = len(self._nodes) + 1
        box = {"center": [at[0], side / 2, at[1]], "size": [side] * 3}
        self._nodes.append(
            {"id": number, "class_name": word, "category": category, "bounding_box": box, **more}
        )
        name = f"{word}_{number}"
        self._at[name] = at
        return name

    def _edge(self, one: str, kind: str, other: str) -> None:
        ids = [int(name.rpartition("_")[2]) for name in (one, other)]
        self._edges.append({"from_id": ids[0], "relation_type": kind, "to_id": ids[1]})


@dataclass
class Told:
    """A `Ranker` with given orders; what is not told keeps its own order, or is none."""

    rooms: Sequence[str] = ()
    objects: Mapping[str, Sequence[str]] = field(default_factory=dict)
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    name = RankerName.MODEL
    evidence = "told by the test"

    async def classify(self, task: str) -> TaskClass:
        return class_of(read_errands(task))

    async def decompose(self, task: str, task_class: TaskClass) -> tuple[Errand, ...]:
        return read_errands(task)

    async def rank_rooms(self, targets: Sequence[str], rooms: Sequence[str]) -> tuple[str, ...]:
        self.asked.append(("rooms", tuple(targets)))
        return tuple(dict.fromkeys((*self.rooms, *rooms)))

    async def large_objects(
        self, targets: Sequence[str], room: str, visible: Sequence[str]
    ) -> tuple[str, ...]:
        self.asked.append(("objects", tuple(visible)))
        return tuple(self.objects.get(room, ()))


@dataclass(frozen=True)
class Played:
    """A run's actions as text, without looking round and the end, and its result."""

    actions: tuple[str, ...]
    looks: int
    result: RunResult
    failed: tuple[str, ...]


def play(
    toy: Toy,
    text: str,
    ranker: Ranker,
    options: AgentOptions | None = None,
    criteria: Criteria | None = None,
    *,
    hands: int = 1,
    all_known: bool = False,
    start: tuple[float, float, float] | None = (0.0, 0.0, 3.14),
) -> Played:
    """Carries a task out."""
    house = toy.house()
    kind = AgentKind.ROBOT if hands == 1 else AgentKind.HUMAN
    room = house.rooms[0].name
    episode = Episode(
        version=1,
        episode_id="toy",
        house=house.name,
        instruction=text,
        agents=(AgentPlacement(uid="agent_0", kind=kind, start=start),),
        objects=house.objects,
        criteria=criteria
        or Criteria(variables={"room": (room,)}, success=(("CLOSE", "robot", "room"),)),
    )
    run = prepare_graph(
        GraphBackend(),
        house,
        episode,
        lambda task: EtAgent(task, ranker, options),
        RunOptions(all_known=all_known),
    )
    result = run.run()
    ended = [e for e in result.events if e.result is not None and str(e.call) != "Done[]"]
    looks = [e for e in ended if e.call.name == "LookRound"]
    acted = [e for e in ended if e.call.name != "LookRound"]
    return Played(
        tuple(str(e.call) for e in acted if e.result is not None and e.result.succeeded),
        len(looks),
        result,
        tuple(e.result.text for e in ended if e.result is not None and not e.result.succeeded),
    )
