"""What exploring furniture shows: also what lies under boards, behind doors and in bins."""

from __future__ import annotations

import pytest

from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.planning.planner import AgentResult, Context, Decision
from planner.skills.ground import to_map
from planner.skills.moving import stops
from planner.world.catalogue import default_catalogue
from planner.world.episode import Episode
from planner.world.house import Furniture, House
from planner.world.house_checks import load_house
from planner.world.skill import SkillCall, SkillName
from planner.world.states import default_states
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

HOUSE = "heldout_1"


class Explorer:
    """Looks at one piece of furniture, opened where it opens, and says what it then knows."""

    name = "explorer"

    def __init__(self, furniture: str, *, opens: bool) -> None:
        self._calls = [SkillCall(SkillName.EXPLORE_FURNITURE, (furniture,))]
        if opens:
            walk = SkillCall(SkillName.NAVIGATE, (furniture,))
            self._calls = [walk, SkillCall(SkillName.OPEN, (furniture,)), *self._calls]
        self.known: frozenset[str] = frozenset()

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        assert all(ended.result.succeeded for ended in results)

    async def decide(self, context: Context) -> Decision:
        self.known = frozenset(context.belief.nodes)
        call = self._calls.pop(0) if self._calls else SkillCall(SkillName.DONE)
        return Decision(dict.fromkeys(context.idle, call))


def _episode(
    piece: Furniture,
    part: str,
    share: tuple[float, float],
    class_name: str = "cup",
    kind: AgentKind = AgentKind.ROBOT,
    house: str = HOUSE,
) -> Episode:
    """A thing at `share` of the half extents of a surface or hollow, as seen from its middle."""
    cls = default_catalogue().objects[class_name]
    size = cls.size_m
    surface = next((s for s in piece.surfaces if s.name == part), None)
    if surface is not None:
        (x, y, z), extent = surface.center, surface.size
    else:
        hollow = next(i for i in piece.interiors if i.name == part)
        (x, y, z), extent = hollow.center, hollow.size[:2]
        z -= hollow.size[2] / 2
    free = [max(0.0, (extent[i] - size[i]) / 2 - 0.02) for i in (0, 1)]
    place = to_map(piece, (x + share[0] * free[0], y + share[1] * free[1], z))
    name = f"{class_name}_0"
    thing = {
        "name": name,
        "class_name": class_name,
        "size_m": size,
        "pose": (*place, piece.yaw_rad),
        "parent": piece.name,
        "relation": Relation.ON if surface is not None else Relation.WITHIN,
        "part": part,
        "states": default_states().initial(cls.affordances),
    }
    return Episode.model_validate(
        {
            "version": 1,
            "episode_id": "one_thing",
            "house": house,
            "instruction": f"Look for the {class_name}.",
            "agents": [{"uid": "agent_0", "kind": kind}],
            "objects": [thing],
            "evaluation": {
                "propositions": [
                    {"function_name": "is_on_floor", "args": {"objects": [name], "number": 1}}
                ]
            },
        }
    )


@pytest.fixture(scope="module")
def house() -> House:
    return load_house(HOUSE)


@pytest.mark.parametrize(
    ("furniture", "part", "share"),
    [
        # Deep on the lowest board: hidden by the boards above from within reach.
        ("shelves_2", "board_1", (-1.0, 0.0)),
        ("shelves_2", "board_3", (-1.0, 1.0)),
        ("shoe_rack_0", "board", (-1.0, 0.0)),
        # Right behind the near rim of a bin.
        ("hamper_0", "inside", (0.6, 0.0)),
        ("trash_can_0", "inside", (1.0, 0.0)),
        ("sink_0", "basin", (1.0, 0.0)),
        ("cabinet_0", "left_lower", (-1.0, 0.0)),
        ("tv_stand_0", "middle", (-0.3, 0.0)),
        ("bench_0", "seat", (0.0, -1.0)),
    ],
)
def test_a_look_shows_what_is_there(
    house: House, furniture: str, part: str, share: tuple[float, float]
) -> None:
    piece = house.furniture_by_name[furniture]
    hollows = [hollow for hollow in piece.interiors if hollow.name == part]
    opens = any(hollow.joint for hollow in hollows)
    assert "cup_0" in _explored(house, furniture, _episode(piece, part, share), opens=opens)


@pytest.mark.parametrize("kind", [AgentKind.ROBOT, AgentKind.HUMAN])
@pytest.mark.parametrize("end", [-1.0, 1.0])
def test_a_look_shows_an_egg_at_the_end_of_a_long_counter(kind: AgentKind, end: float) -> None:
    house = load_house("train_6")
    counter = house.furniture_by_name["counter_0"]
    episode = _episode(counter, "top", (-0.45, end), "egg", kind, house.name)
    assert "egg_0" in _explored(house, "counter_0", episode, opens=False)


def _explored(house: House, furniture: str, episode: Episode, *, opens: bool) -> frozenset[str]:
    """What is known after a look at furniture."""
    explorer = Explorer(furniture, opens=opens)
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    try:
        run_embedded(backend, house, episode, lambda _: explorer, RunOptions(images=False))
    finally:
        backend.close()
    return explorer.known


def test_where_to_look_from_follows_from_the_furniture(house: House) -> None:
    def away(furniture: str, openness: float = 0.0) -> list[float | None]:
        piece = house.furniture_by_name[furniture]
        return [stop.away_m for stop in stops(piece, openness)]

    # A table shows as a whole; a bin is looked into from close by; boards from farther away.
    assert away("table_0") == [None]
    assert away("hamper_0") == [None, 0.3]
    assert away("shelves_0") == [None, 1.2]
    # A lid and a door make the difference only where they are open, drawers never.
    assert away("trash_can_0") == [None]
    assert away("trash_can_0", 1.0) == [None, 0.3]
    assert away("wardrobe_0") == [None]
    assert away("wardrobe_0", 1.0) == [None, 1.2]
    assert away("nightstand_0", 1.0) == [None]
    # A long counter is looked at from its middle and from both ends.
    assert away("counter_1") == [None, None, None]
