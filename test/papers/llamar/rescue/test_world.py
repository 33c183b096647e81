"""The rules of search and rescue: LLAMAR-S1 to LLAMAR-S10, and what they leave open."""

from __future__ import annotations

import pytest

from papers.llamar.rescue.acting import Checklist, joint_step, observation_text, visible_names
from papers.llamar.rescue.scenes import (
    Cell,
    Fire,
    FireKind,
    Intensity,
    Scene,
    Supply,
    away,
    load_scene,
)
from papers.llamar.rescue.world import Action, Failure, JointStep, RescueWorld, Verb, parse_action
from planner.world.errors import PlannerError

IDLE = Action(Verb.IDLE)
UTAH, YORK, DEPOSIT, TIMMY = "ReservoirUtah", "ReservoirYork", "DepositFacility", "LostPersonTimmy"


def scene_1(agents: int = 2, seed: int = 0) -> RescueWorld:
    return RescueWorld(load_scene("rescue-1"), agents, seed)


def do(world: RescueWorld, *texts: str) -> list[Failure | None]:
    """The failures of a joint step; agents without a text idle."""
    return [result.failure for result in joint(world, *texts).results]


def joint(world: RescueWorld, *texts: str) -> JointStep:
    actions = [parse_action(text) for text in texts]
    return joint_step(world, actions + [IDLE] * (len(world.agents) - len(actions)))


def put(world: RescueWorld, agent: str, cell: Cell) -> None:
    world.agents[agent].cell = cell


def burning(world: RescueWorld, name: str) -> dict[Cell, Intensity]:
    fire = world.fires[name]
    return {cell: fire.intensity(cell) for cell in fire.burning}


@pytest.mark.parametrize(
    ("name", "subtasks", "objects"),
    [
        ("rescue-1", 15, 6),
        ("rescue-2", 15, 6),
        ("rescue-3", 18, 7),
        ("rescue-4", 10, 4),
        ("rescue-5", 14, 5),
    ],
)
def test_the_checklists_have_the_published_sizes(name: str, subtasks: int, objects: int) -> None:
    """LLAMAR-S1, its counts."""
    checklist = Checklist(load_scene(name), ("Alice", "Bob"))
    assert len(set(checklist.subtasks)) == len(checklist.subtasks) == subtasks
    assert len(set(checklist.objects)) == objects


def test_the_first_way_to_a_reservoir_is_one_item_and_one_object() -> None:
    """LLAMAR-S1."""
    world = scene_1()
    checklist = Checklist(world.scene, tuple(world.agents))
    checklist.note(joint(world, f"NavigateTo({UTAH})"))
    scores = checklist.scores()
    assert scores.transport_rate == pytest.approx(1 / 15)
    assert scores.coverage == pytest.approx(1 / 6)
    assert not scores.success
    assert scores.steps == 1


def test_a_lone_cell_gets_hotter_and_lights_its_neighbours_in_time() -> None:
    """LLAMAR-S2."""
    world = scene_1(1)
    cells = [(x, y) for x in range(2, 8) for y in range(2, 8)]
    lone = (4, 4)
    world.fires["CaldorFire"] = Fire("CaldorFire", FireKind.CHEMICAL, cells, [lone], 4)
    seen: dict[int, tuple[Intensity, int]] = {}
    for step in range(1, 17):
        do(world, "Idle")
        levels = burning(world, "CaldorFire")
        seen[step] = (levels[lone], len(levels))
    assert seen[7] == (Intensity.LOW, 1)
    assert seen[8] == (Intensity.MEDIUM, 1)
    assert seen[9] == (Intensity.MEDIUM, 1)
    assert seen[10] == (Intensity.MEDIUM, 9)
    assert seen[13][0] is Intensity.MEDIUM
    assert seen[14][0] is Intensity.HIGH
    assert seen[16][0] is Intensity.HIGH


def test_the_wrong_supply_is_used_up_without_effect() -> None:
    """LLAMAR-S3."""
    world = scene_1()
    put(world, "Alice", world.fires["CaldorFire"].regions[0])
    world.agents["Alice"].supplies[Supply.WATER] = 2
    before = burning(world, "CaldorFire")
    assert do(world, "UseSupply(CaldorFire, Water)")[0] is Failure.WRONG_TYPE
    assert world.agents["Alice"].supplies[Supply.WATER] == 1
    assert burning(world, "CaldorFire") == before


def test_a_damped_cell_starts_its_clock_again() -> None:
    """As in the published code: from medium to high, that is seven ticks instead of four."""
    world = scene_1(1)
    cells = [(x, y) for x in range(2, 8) for y in range(2, 8)]
    fire = world.fires["CaldorFire"] = Fire("CaldorFire", FireKind.CHEMICAL, cells, [(4, 4)], 4)
    while fire.intensity((4, 4)) is not Intensity.HIGH:
        fire.tick()
    assert fire.damp((4, 4))
    ticks = 0
    while fire.intensity((4, 4)) is not Intensity.HIGH:
        fire.tick()
        ticks += 1
    assert ticks == 7


def test_supply_where_no_cell_is_of_the_fire_is_used_up_and_fails() -> None:
    world = scene_1()
    world.fires["GreatFire"] = Fire("GreatFire", FireKind.NON_CHEMICAL, [(4, 4)], [(4, 4)], 4)
    put(world, "Alice", (4, 7))
    world.agents["Alice"].supplies[Supply.WATER] = 1
    assert do(world, "UseSupply(GreatFire, Water)")[0] is Failure.NOT_INTERACTABLE
    assert world.agents["Alice"].supplies[Supply.WATER] == 0


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("rescue-1", {"CaldorFire": 27, "GreatFire": 21}),
        ("rescue-2", {"EnglandFire": 47, "TownFire": 47}),
        ("rescue-4", {"RedFire": 79}),
    ],
)
def test_fires_have_the_cells_of_the_published_code(name: str, sizes: dict[str, int]) -> None:
    """Counted by running that code."""
    fires = RescueWorld(load_scene(name)).fires
    assert {fire.name: len(fire.cells) for fire in fires.values()} == sizes


def test_supply_falls_around_the_agent_and_not_on_the_region_that_is_named() -> None:
    """LLAMAR-S4."""
    world = scene_1()
    fire = world.fires["CaldorFire"]
    here, there = fire.regions[0], fire.regions[1]
    assert away(here, there) > 2
    put(world, "Alice", here)
    world.agents["Alice"].supplies[Supply.SAND] = 1
    assert do(world, "UseSupply(CaldorFire_Region_2, Sand)")[0] is None
    assert fire.intensity(here) is Intensity.NONE
    assert fire.intensity(there) is Intensity.LOW


def test_a_person_moves_only_with_two_and_with_the_first_of_them() -> None:
    """LLAMAR-S5."""
    world = scene_1()
    put(world, "Alice", (8, 23))
    put(world, "Bob", (7, 22))
    do(world)
    assert do(world, f"Carry({TIMMY})")[0] is None
    assert do(world, "Move(Down)")[0] is None
    assert world.persons[TIMMY].cell == (8, 22)
    assert do(world, "Idle", f"Carry({TIMMY})")[1] is None
    assert world.persons[TIMMY].cell == world.agents["Alice"].cell == (8, 24)
    do(world, "Move(Down)")
    assert world.persons[TIMMY].cell == (8, 25)


def test_an_agent_with_a_person_may_do_little_else() -> None:
    """LLAMAR-S6."""
    world = scene_1()
    put(world, "Alice", (8, 23))
    do(world)
    world.agents["Alice"].supplies[Supply.SAND] = 2
    do(world, f"Carry({TIMMY})")
    assert not any(world.agents["Alice"].supplies.values())
    for text in (
        f"GetSupply({UTAH})",
        "Explore()",
        "ClearInventory()",
        "UseSupply(GreatFire, Sand)",
    ):
        assert do(world, text)[0] is Failure.RESTRICTED_ACTION
    assert do(world, "Idle()")[0] is None
    assert do(world, f"NavigateTo({DEPOSIT})")[0] is None
    assert do(world, f"Carry({TIMMY})")[0] is Failure.NOT_INTERACTABLE


def test_all_holders_drop_a_person_off_together() -> None:
    """LLAMAR-S7."""
    world = carried_by_two()
    put(world, "Alice", (23, 13))
    drop = f"DropOff({DEPOSIT}, {TIMMY})"
    assert do(world, drop, drop) == [Failure.NOT_INTERACTABLE] * 2
    put(world, "Bob", (22, 13))
    assert do(world, drop, drop) == [None, None]
    assert world.persons[TIMMY].deposit == DEPOSIT
    assert not any(agent.carried for agent in world.agents.values())
    assert TIMMY not in visible_names(world, world.agents["Alice"])


def test_the_drop_off_may_be_spread_over_steps() -> None:
    world = carried_by_two()
    put(world, "Alice", (23, 13))
    put(world, "Bob", (22, 13))
    drop = f"DropOff({DEPOSIT}, {TIMMY})"
    assert do(world, drop)[0] is Failure.NOT_ALL_DROPPED
    assert not world.persons[TIMMY].deposit
    assert do(world, "Idle", drop)[1] is None
    assert world.persons[TIMMY].deposit == DEPOSIT


def test_one_agent_alone_cannot_drop_off_a_person_who_was_never_carried() -> None:
    scene = load_scene("rescue-1")
    near = scene.persons[0].model_copy(update={"cell": (23, 11)})
    world = RescueWorld(scene.model_copy(update={"persons": (near,)}), 2)
    put(world, "Alice", (23, 13))
    do(world)
    assert do(world, f"Carry({TIMMY})")[0] is None
    drop = f"DropOff({DEPOSIT}, {TIMMY})"
    assert do(world, drop)[0] is Failure.NOT_INTERACTABLE
    assert not world.persons[TIMMY].deposit


def carried_by_two() -> RescueWorld:
    world = scene_1()
    put(world, "Alice", (8, 23))
    put(world, "Bob", (7, 22))
    do(world)
    assert do(world, f"Carry({TIMMY})", f"Carry({TIMMY})") == [None, None]
    return world


def test_a_person_is_seen_by_all_once_one_has_seen_them() -> None:
    """LLAMAR-S8."""
    world = scene_1()
    assert do(world, f"NavigateTo({TIMMY})")[0] is Failure.NOT_VISIBLE
    assert TIMMY not in observation_text(world, world.agents["Alice"])
    put(world, "Bob", (8, 24))
    assert joint(world, "Idle").spotted == (("Bob", TIMMY),)
    assert do(world, f"NavigateTo({TIMMY})")[0] is None
    assert away(world.agents["Alice"].cell, world.persons[TIMMY].cell) == 1


def test_the_fourth_unit_does_not_fit() -> None:
    """LLAMAR-S9."""
    world = scene_1()
    do(world, f"NavigateTo({UTAH})")
    got = [do(world, f"GetSupply({UTAH})")[0] for _ in range(4)]
    assert got == [None, None, None, Failure.FULL]
    assert world.agents["Alice"].supplies == {Supply.SAND: 3, Supply.WATER: 0}


def test_the_way_to_a_fire_leads_to_its_first_region() -> None:
    """LLAMAR-S10."""
    world = scene_1()
    (result, _) = joint(world, "NavigateTo(CaldorFire)").results
    assert result.succeeded
    assert result.action.target == "CaldorFire_Region_1"
    assert world.agents["Alice"].cell == world.fires["CaldorFire"].regions[0]
    (result, _) = joint(world, "NavigateTo(CaldorFire_Region_2)").results
    assert world.agents["Alice"].cell == world.fires["CaldorFire"].regions[1]


def test_supplies_can_be_stored_and_taken_by_another() -> None:
    world = scene_1()
    do(world, f"NavigateTo({UTAH})", f"NavigateTo({DEPOSIT})")
    do(world, f"GetSupply({UTAH})", f"GetSupply({DEPOSIT}, Sand)")
    assert do(world, "Idle", f"GetSupply({DEPOSIT}, Sand)")[1] is Failure.EMPTY
    do(world, f"GetSupply({UTAH})")
    assert do(world, f"StoreSupply({DEPOSIT})")[0] is Failure.NOT_INTERACTABLE
    do(world, f"NavigateTo({DEPOSIT})")
    assert do(world, f"StoreSupply({DEPOSIT})", f"GetSupply({DEPOSIT}, Sand)") == [None, None]
    assert world.agents["Bob"].supplies == {Supply.SAND: 2, Supply.WATER: 0}
    assert do(world, f"StoreSupply({DEPOSIT})")[0] is None  # nothing left to store


def test_agents_do_not_walk_into_each_other_or_off_the_grid() -> None:
    world = scene_1()
    put(world, "Alice", (0, 0))
    put(world, "Bob", (1, 0))
    assert do(world, "Move(Up)", "Move(Left)") == [Failure.BLOCKED, Failure.BLOCKED]
    put(world, "Alice", (15, 4))
    assert do(world, "Move(Down)")[0] is Failure.BLOCKED  # the reservoir of sand
    assert do(world, "Move(Center)")[0] is None


def test_exploring_goes_twenty_cells_another_way_each_time() -> None:
    world = scene_1(1)
    last = None
    for _ in range(20):
        before = world.agents["Alice"].cell
        assert do(world, "Explore()")[0] is None
        heading = world.agents["Alice"].heading
        assert heading != last
        assert (
            max(abs(a - b) for a, b in zip(before, world.agents["Alice"].cell, strict=True)) <= 20
        )
        last = heading


def test_exploring_spots_a_person_on_the_way() -> None:
    found: list[tuple[str, str]] = []
    for seed in range(40):
        world = scene_1(1, seed)
        put(world, "Alice", (8, 12))
        found += joint(world, "Explore()").spotted
    assert ("Alice", TIMMY) in found


def test_fires_die_out_when_each_cell_is_put_out_and_the_item_is_the_last_agents() -> None:
    world = scene_1()
    checklist = Checklist(world.scene, tuple(world.agents))
    world.agents["Alice"].supplies[Supply.WATER] = 1
    checklist.note(joint(world, "NavigateTo(GreatFire)"))
    step = joint(world, "UseSupply(GreatFire, Water)")
    checklist.note(step)
    assert step.ended == (("Alice", "GreatFire"),)
    assert checklist.done["EndFire(GreatFire)"] == ("Alice", 2)
    assert "GreatFire" not in visible_names(world, world.agents["Alice"])
    assert do(world, "NavigateTo(GreatFire)")[0] is Failure.NOT_VISIBLE
    scores = checklist.scores()
    assert scores.balance == 0.0
    assert scores.coverage == pytest.approx(1 / 6)


def test_a_useless_success_is_only_in_the_balance_of_all() -> None:
    world = scene_1()
    checklist = Checklist(world.scene, tuple(world.agents))
    checklist.note(joint(world, f"NavigateTo({UTAH})", "Move(Down)"))
    scores = checklist.scores()
    assert scores.balance == 0.0
    assert scores.balance_all == pytest.approx(1 / 1.0001)


def test_steps_after_the_horizon_do_not_count() -> None:
    world = scene_1()
    checklist = Checklist(world.scene, tuple(world.agents), horizon_steps=2)
    for text in ("Idle", "Idle", f"NavigateTo({UTAH})"):
        checklist.note(joint(world, text))
    assert checklist.scores().steps == 2
    assert checklist.scores().transport_rate == 0.0


def test_what_can_be_seen_at_the_start_is_spotted_at_the_start() -> None:
    """Whoever starts beside a person need not be told."""
    scene = load_scene("rescue-1")
    near = scene.persons[0].model_copy(update={"cell": (9, 8)})
    world = RescueWorld(scene.model_copy(update={"persons": (near,)}), 2)
    assert world.spotted_at_start == (("Alice", TIMMY),)
    assert "Spot(LostPersonTimmy)" in Checklist.of(world).done


def test_the_same_seed_gives_the_same_run() -> None:
    def run(seed: int) -> list[object]:
        world = scene_1(3, seed)
        lit = [fire.burning for fire in world.fires.values()]
        for _ in range(12):
            do(world, "Explore()", "Explore()", "Explore()")
        return [*lit, *(agent.cell for agent in world.agents.values())]

    assert run(3) == run(3)
    assert any(run(3) != run(seed) for seed in (4, 5))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Fly(GreatFire)", "there is no action 'Fly'"),
        ("UseSupply(GreatFire)", "UseSupply takes 2 arguments"),
        ("UseSupply(GreatFire, Foam)", "expected one of Sand, Water, got 'Foam'"),
        ("Move(North)", "expected one of Up, Down"),
        ("go there now", "expected an action such as"),
    ],
)
def test_what_is_no_action_is_named(text: str, said: str) -> None:
    with pytest.raises(PlannerError, match=said):
        parse_action(text)


def test_a_joint_step_needs_an_action_of_each() -> None:
    with pytest.raises(PlannerError, match="expected 2 actions, got 1"):
        joint_step(scene_1(), [IDLE])


def test_there_are_at_most_as_many_agents_as_places() -> None:
    with pytest.raises(PlannerError, match="rescue-1: expected 1 to 6 agents, got 7"):
        scene_1(7)


def test_a_scene_that_cannot_be_done_names_its_field() -> None:
    scene = load_scene("rescue-1")
    with pytest.raises(ValueError, match="CaldorFire needs Sand, and no reservoir has it"):
        Scene.model_validate(
            {**scene.model_dump(), "reservoirs": scene.model_dump()["reservoirs"][1:]}
        )
    with pytest.raises(PlannerError, match="there is no rescue scene 'rescue-9'"):
        load_scene("rescue-9")
