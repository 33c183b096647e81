"""The rescue world behind the bridge's interface: joint steps over time, states, refusals."""

from __future__ import annotations

from pathlib import Path

import pytest

from papers.llamar.rescue.backend import RescueBackend, RescueOptions, Turns, default_rescue_options
from papers.llamar.rescue.scenes import Cell, Supply, load_scene, scene_names
from papers.llamar.rescue.snapshot import (
    TEAMS,
    cell_at,
    episode_of,
    house_document,
    house_of,
    middle_m,
)
from planner.parts.catalog import Verdict
from planner.world.episode import AgentPlacement, Episode
from planner.world.errors import PlannerError
from planner.world.files import read_model
from planner.world.geometry import Vec3
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.share import config_dir
from planner.world.state import EntityState
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.conformance import check_backend

TICK_S = 1 / 30
UTAH, DEPOSIT, TIMMY = "reservoir_utah_3", "deposit_facility_5", "lost_person_timmy_6"
CALDOR = "caldor_fire_1"


class Driven:
    """A loaded backend with what tests do to it."""

    def __init__(self, agents: int = 2) -> None:
        self.backend = RescueBackend()
        scene = load_scene("rescue-1")
        self.backend.reset(house_of(scene), episode_of(scene, agents), 0)

    @property
    def turns(self) -> Turns:
        return self.backend._loaded()

    def entity(self, name: str) -> EntityState:
        state = self.backend.world_state()
        assert state is not None
        return state.entities[name]

    def at(self, name: str) -> Vec3:
        return self.entity(name).box.center_m

    def put(self, agent: str, cell: Cell) -> None:
        self.turns.world.agents[agent].cell = cell
        self.turns._stand(agent, cell)

    def all(self, *asked: tuple[str, str]) -> list[PrimitiveResult]:
        """Carries out a primitive of each agent at the same time, at an entity or nowhere."""
        handles = []
        for index, (name, target) in enumerate(asked):
            point_m = self.at(target) if target else (0.0, 0.0, 0.0)
            handles.append(self.backend.start(f"agent_{index}", Primitive(name, point_m)))
        for _ in range(400):
            if all(self.backend.poll(handle).done for handle in handles):
                break
            self.backend.step(TICK_S)
        results = [self.backend.poll(handle).result for handle in handles]
        return [result for result in results if result is not None]


def test_who_is_placed_beside_a_person_sees_them_at_the_start() -> None:
    scene = load_scene("rescue-1")
    episode = episode_of(scene, 2)
    beside = episode.agents[0].model_copy(update={"start": (4.25, 3.25, 0.0)})
    backend = RescueBackend()
    for agents, seen in ((episode.agents, False), ((beside, episode.agents[1]), True)):
        backend.reset(house_of(scene), episode.model_copy(update={"agents": agents}), 0)
        found = {sighting.name for sighting in backend.sightings_now("agent_1")}
        assert (TIMMY in found) is seen
        assert ("Spot(LostPersonTimmy)" in backend.checklist.done) is seen


@pytest.mark.slow
def test_it_conforms() -> None:
    scene = load_scene("rescue-1")
    report = check_backend(RescueBackend, house=house_of(scene), episode=episode_of(scene, 2))
    assert report.failed == {}, report.table()
    passed = {f.check for f in report.findings if f.verdict is Verdict.PASSED}
    assert {"walking_takes_its_time", "cancel_stops", "same_call_same_world"} <= passed


@pytest.mark.parametrize(
    "name",
    [
        scene_names()[0],
        *(pytest.param(name, marks=pytest.mark.slow) for name in scene_names()[1:]),
    ],
)
def test_the_shipped_files_are_those_of_the_scenes(name: str) -> None:
    scene = load_scene(name)
    house = load_house(name)
    assert house == house_of(scene)
    for agents in TEAMS:
        episode, its_house = load_episode(f"{name}-agents-{agents}")
        assert episode == episode_of(scene, agents)
        assert its_house == house


def test_calls_of_one_moment_are_one_joint_step() -> None:
    driven = Driven()
    began_s = driven.backend.now_s()
    results = driven.all(("approach", UTAH), ("approach", "reservoir_york_4"))
    assert [result.code for result in results] == [PrimitiveCode.SUCCESS] * 2
    assert driven.turns.world.steps == 1
    options = default_rescue_options()
    took_s = driven.backend.now_s() - began_s
    assert took_s == pytest.approx(options.gather_s + options.turn_s, abs=3 * TICK_S)
    assert "NavigateTo(ReservoirUtah)" in driven.backend.checklist.done


def test_what_is_asked_during_a_step_is_part_of_the_next_one() -> None:
    driven = Driven()
    first = driven.backend.start("agent_0", Primitive("approach", driven.at(UTAH)))
    for _ in range(60):
        driven.backend.step(TICK_S)
    second = driven.backend.start("agent_1", Primitive("approach", driven.at(DEPOSIT)))
    while not driven.backend.poll(first).done:
        driven.backend.step(TICK_S)
    assert driven.turns.world.steps == 1
    assert not driven.backend.poll(second).done
    while not driven.backend.poll(second).done:
        driven.backend.step(TICK_S)
    assert driven.turns.world.steps == 2


def test_supplies_are_taken_and_put_out_the_fire_around_the_agent() -> None:
    driven = Driven(1 + 1)
    driven.all(("approach", UTAH))
    (taken,) = driven.all(("take_sand", UTAH))
    assert taken.evidence["sand"] == "1"
    driven.all(("approach", "caldor_fire_region_1"))
    before = driven.entity("caldor_fire_region_1").states
    assert before == {"burning": True, "chemical": True, "heat_low": True}
    assert driven.all(("use_sand", CALDOR))[0].succeeded
    assert driven.entity("caldor_fire_region_1").states == {"burning": False, "chemical": True}
    driven.all(("approach", "caldor_fire_region_2"))
    (none_left,) = driven.all(("use_sand", CALDOR))
    assert none_left.code is PrimitiveCode.NEED_UNMET
    assert none_left.evidence["failure"] == "no_supply"


def test_a_failure_has_its_code_and_class() -> None:
    driven = Driven()
    driven.turns.world.agents["agent_0"].supplies[Supply.WATER] = 1
    (far,) = driven.all(("use_water", CALDOR))
    assert (far.code, far.evidence["failure"]) == (PrimitiveCode.TOO_FAR, "not_interactable")
    driven.all(("approach", "caldor_fire_region_1"))
    (wrong,) = driven.all(("use_water", CALDOR))
    assert (wrong.code, wrong.evidence["failure"]) == (PrimitiveCode.NEED_UNMET, "wrong_type")
    assert wrong.evidence["water"] == "0"
    (nobody,) = driven.all(("drop_off", DEPOSIT))
    assert nobody.code is PrimitiveCode.NEED_UNMET


def test_a_person_is_held_by_the_first_and_then_within_the_deposit() -> None:
    driven = Driven()
    driven.put("agent_0", (8, 23))
    driven.put("agent_1", (7, 22))
    # A joint step, in which both look around.
    driven.all(("discard_supplies", ""))
    carry = ("carry", TIMMY)
    assert all(result.succeeded for result in driven.all(carry, carry))
    person = driven.entity(TIMMY)
    assert (person.parent, person.relation) == ("agent_0", Relation.HELD)
    assert driven.entity("agent_0").holding == TIMMY
    assert driven.backend.observe("agent_0").holding
    assert driven.entity("agent_1").holding is None
    approach, drop = ("approach", DEPOSIT), ("drop_off", DEPOSIT)
    driven.all(approach, approach)
    assert all(result.succeeded for result in driven.all(drop, drop))
    person = driven.entity(TIMMY)
    assert (person.parent, person.relation) == (DEPOSIT, Relation.WITHIN)


def test_a_person_cannot_be_meant_or_seen_before_somebody_was_near() -> None:
    driven = Driven()
    assert TIMMY not in {seen.name for seen in driven.backend.sightings_now("agent_0")}
    assert driven.all(("approach", TIMMY))[0].code is PrimitiveCode.NOTHING_THERE
    driven.put("agent_1", (8, 24))
    driven.all(("discard_supplies", ""))
    names = {seen.name for seen in driven.backend.sightings_now("agent_0")}
    assert {TIMMY, CALDOR, "caldor_fire_region_1", UTAH, DEPOSIT} <= names
    assert "agent_1" not in names


def test_who_is_stopped_on_the_way_is_in_the_cell_where_it_stopped() -> None:
    driven = Driven()
    start = driven.turns.world.agents["agent_0"].cell
    handle = driven.backend.start("agent_0", Primitive("approach", driven.at(DEPOSIT)))
    for _ in range(120):
        driven.backend.step(TICK_S)
    driven.backend.stop("agent_0")
    result = driven.backend.poll(handle).result
    assert result is not None
    assert result.code is PrimitiveCode.STOPPED
    x_m, y_m, _ = driven.entity("agent_0").pose.position_m
    cell = driven.turns.world.agents["agent_0"].cell
    assert cell_at(x_m, y_m) == cell
    assert cell not in (start, (23, 12))


def test_who_is_stopped_before_the_step_takes_no_part_in_it() -> None:
    driven = Driven()
    driven.backend.start("agent_0", Primitive("approach", driven.at(DEPOSIT)))
    driven.backend.stop("agent_0")
    for _ in range(60):
        driven.backend.step(TICK_S)
    assert driven.turns.world.steps == 0


def test_cells_and_points_are_each_others_inverse() -> None:
    for cell in ((0, 0), (29, 0), (0, 29), (13, 7)):
        x_m, y_m, _ = middle_m(cell)
        assert cell_at(x_m, y_m) == cell
    assert middle_m((0, 0))[1] > middle_m((0, 29))[1]
    assert cell_at(-0.1, 3.0) is None


def test_another_house_or_thing_is_refused_by_name() -> None:
    scene = load_scene("rescue-1")
    house, episode = house_of(scene), episode_of(scene, 2)
    backend = RescueBackend()
    with pytest.raises(PlannerError, match="there is no rescue scene 'train-0'"):
        backend.reset(house.model_copy(update={"name": "train-0"}), episode, 0)
    other = house.model_copy(update={"name": "rescue-2"})
    with pytest.raises(PlannerError, match=r"rescue-2 has EnglandFire, and the house has none"):
        backend.reset(other, episode, 0)


@pytest.mark.parametrize("start", [(-1.0, 3.0, 0.0), (*middle_m((15, 5))[:2], 0.0)])
def test_a_start_outside_or_in_a_reservoir_is_refused(start: tuple[float, float, float]) -> None:
    scene = load_scene("rescue-1")
    placed = AgentPlacement(uid="agent_0", kind=AgentKind.RESCUER, start=start)
    episode: Episode = episode_of(scene, 2).model_copy(update={"agents": (placed,)})
    with pytest.raises(PlannerError, match=r"agents\.0\.start: \(.*\) is in no free cell"):
        RescueBackend().reset(house_of(scene), episode, 0)


@pytest.mark.slow
def test_a_scene_of_ones_own_replaces_that_of_the_name(tmp_path: Path) -> None:
    text = (config_dir() / "rescue" / "scenes" / "rescue-4.yaml").read_text(encoding="utf-8")
    own = tmp_path / "own.yaml"
    own.write_text(text.replace("lit: 3", "lit: 1"), encoding="utf-8")
    scene = load_scene(str(own))
    backend = RescueBackend(RescueOptions(scene=own))
    backend.reset(house_of(scene), episode_of(scene, 2), 0)
    assert len(backend._loaded().world.fires["RedFire"].burning) == 1


def test_wrong_settings_name_their_field(tmp_path: Path) -> None:
    path = tmp_path / "rescue.yaml"
    path.write_text("version: 1\nturn_s: 1\n", encoding="utf-8")
    with pytest.raises(PlannerError, match=r"rescue\.yaml: turn_s: "):
        read_model(path, RescueOptions)


def test_bodies_without_the_abilities_cannot() -> None:
    scene = load_scene("rescue-1")
    placed = AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT)
    episode = episode_of(scene, 2).model_copy(update={"agents": (placed,)})
    backend = RescueBackend()
    house: House = house_of(scene)
    backend.reset(house, episode, 0)
    handle = backend.start("agent_0", Primitive(PrimitiveName.CARRY, (1.0, 1.0, 0.0)))
    result = backend.poll(handle).result
    assert result is not None
    assert result.code is PrimitiveCode.NOT_ABLE
    assert house_document(scene)["nodes"]
