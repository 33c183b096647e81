"""The skills that change states: what they need, what they set, what becomes of things."""

from __future__ import annotations

import pytest
from skill_world import World

from planner.world.agents import default_bodies
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.skill import SkillCode
from planner.world.vocabulary import AgentKind
from sim_bridge.embedded.options import EmbeddedOptions

PERSON = "agent_1"


@pytest.fixture
def kitchen(small_house: House, small_episode: Episode) -> World:
    """The small house with a knife, a pitcher and a plant on the kitchen's table."""
    return make_kitchen(small_house, small_episode)


def make_kitchen(
    small_house: House, small_episode: Episode, embedded: EmbeddedOptions | None = None
) -> World:
    apple = next(item for item in small_house.objects if item.name == "apple_0")
    others = (("knife_0", -0.25), ("pitcher_0", 0.25), ("plant_container_0", 0.45))
    made = [
        apple.model_copy(
            update={
                "name": name,
                "class_name": name.removesuffix("_0"),
                "size_m": (0.06, 0.06, 0.05),
                "pose": (apple.pose[0] - dx, apple.pose[1] + 0.12, apple.pose[2], apple.pose[3]),
            }
        )
        for name, dx in others
    ]
    objects = (*small_episode.objects, *made)
    episode = small_episode.model_copy(update={"objects": objects})
    return World(small_house, episode, embedded=embedded)


def run(world: World, *calls: str) -> None:
    for call in calls:
        result = world.run(call, PERSON)
        assert result.succeeded, f"{call}: {result.text}"


def test_a_sliced_thing_is_gone_and_its_slices_are_there(kitchen: World) -> None:
    before = kitchen.state.entities["apple_0"]
    run(kitchen, "Navigate[knife_0]", "Pick[knife_0]", "Navigate[apple_0]", "Slice[apple_0]")
    entities = kitchen.state.entities
    slices = [name for name in entities if name.startswith("apple_slice_")]
    assert "apple_0" not in entities
    assert slices == [f"apple_slice_{k}" for k in range(4)]
    for name in slices:
        assert entities[name].parent == before.parent
        assert (entities[name].states or {})["sliced"]
        assert before.box.contains(entities[name].box.center_m, 0.001)
    assert len({entities[name].instance_id for name in slices}) == 4
    run(kitchen, "Rearrange[knife_0, on, table_0, None, None]", "Pick[apple_slice_2]")
    assert kitchen.holding(PERSON) == "apple_slice_2"


def test_slices_are_in_pictures_and_in_sight(small_house: House, small_episode: Episode) -> None:
    world = make_kitchen(small_house, small_episode, EmbeddedOptions(renderer="rays"))
    apple = world.state.entities["apple_0"].instance_id
    run(world, "Navigate[knife_0]", "Pick[knife_0]", "Navigate[apple_0]", "Slice[apple_0]")
    seen = {sighting.name for sighting in world.backend.sightings(PERSON)}
    assert {name for name in seen if name.startswith("apple")} >= {"apple_slice_0"}
    assert "apple_0" not in seen
    drawn = set(world.backend.observe(PERSON).cameras["hand"].instances.ravel().tolist())
    slices = {
        entity.instance_id
        for name, entity in world.state.entities.items()
        if name.startswith("apple_slice")
    }
    assert drawn & slices
    assert apple not in drawn


def test_slicing_needs_a_knife(kitchen: World) -> None:
    run(kitchen, "Navigate[apple_0]")
    empty_handed = kitchen.run("Slice[apple_0]", PERSON)
    assert empty_handed.code is SkillCode.NOT_HOLDING
    assert empty_handed.text.endswith("The agent is not holding a knife.")
    run(kitchen, "Pick[cup_0]")
    assert kitchen.run("Slice[apple_0]", PERSON).code is SkillCode.NOT_HOLDING
    assert "apple_0" in kitchen.state.entities


def test_what_is_poured_is_what_was_filled_in(kitchen: World) -> None:
    run(kitchen, "Navigate[pitcher_0]", "Pick[pitcher_0]", "Navigate[sink_0]", "Fill[pitcher_0]")
    assert kitchen.state.entities["pitcher_0"].states == {
        "clean": True,
        "filled": True,
        "filled_with_water": True,
    }
    run(kitchen, "Navigate[cup_0]", "Pour[cup_0]")
    assert (kitchen.state.entities["cup_0"].states or {})["filled_with_water"]
    emptied = kitchen.state.entities["pitcher_0"].states or {}
    assert emptied == {"clean": True, "filled": False}


def test_what_one_hand_holds_is_poured_into_what_the_other_holds(kitchen: World) -> None:
    run(kitchen, "Navigate[pitcher_0]", "Pick[pitcher_0]", "Navigate[sink_0]", "Fill[pitcher_0]")
    run(kitchen, "Navigate[cup_0]", "Pick[cup_0]")
    poured = kitchen.run("Pour[cup_0]", PERSON)
    assert poured.succeeded, poured.text
    assert poured.evidence["poured_from"] == "pitcher_0"
    entities = kitchen.state.entities
    assert entities[PERSON].hands == poured.hands == ("pitcher_0", "cup_0")
    assert (entities["cup_0"].states or {})["filled_with_water"]
    assert not (entities["pitcher_0"].states or {})["filled"]
    again = kitchen.run("Pour[cup_0]", PERSON)
    assert again.code is SkillCode.SOURCE_EMPTY


def test_one_hand_says_why_it_cannot_pour_into_what_it_would_have_to_hold(
    small_house: House, small_episode: Episode, monkeypatch: pytest.MonkeyPatch
) -> None:
    bodies = default_bodies()
    one_handed = bodies[AgentKind.HUMAN].model_copy(update={"hands": 1})
    monkeypatch.setitem(bodies, AgentKind.HUMAN, one_handed)
    kitchen = make_kitchen(small_house, small_episode)
    run(kitchen, "Navigate[pitcher_0]", "Pick[pitcher_0]", "Navigate[sink_0]", "Fill[pitcher_0]")
    run(kitchen, "Navigate[cup_0]")
    second = kitchen.run("Pick[cup_0]", PERSON)
    assert second.code is SkillCode.ALREADY_HOLDING
    assert second.text.endswith("The agent is already holding pitcher_0.")
    run(kitchen, "Place[pitcher_0, on, table_0, None, None]", "Pick[cup_0]")
    poured = kitchen.run("Pour[cup_0]", PERSON)
    assert poured.code is SkillCode.WRONG_ARGUMENTS
    assert poured.text.endswith("cup_0 is what the agent holds: it cannot be poured into itself.")
    assert not (kitchen.state.entities["cup_0"].states or {}).get("filled")


def test_a_plant_is_watered_with_water_only(kitchen: World) -> None:
    run(kitchen, "Navigate[pitcher_0]", "Pick[pitcher_0]", "Navigate[plant_container_0]")
    assert kitchen.run("Water[plant_container_0]", PERSON).code is SkillCode.SOURCE_EMPTY
    run(kitchen, "Navigate[sink_0]", "Fill[pitcher_0]", "Navigate[plant_container_0]")
    run(kitchen, "Water[plant_container_0]")
    assert (kitchen.state.entities["plant_container_0"].states or {})["watered"]


def test_what_needs_a_device_is_refused_elsewhere(kitchen: World) -> None:
    run(kitchen, "Navigate[apple_0]")
    result = kitchen.run("Cook[apple_0]", PERSON)
    assert result.code is SkillCode.NEED_UNMET
    assert result.text.endswith("apple_0 is not on or in a stove that is on.")


def test_a_robot_cannot(kitchen: World) -> None:
    assert kitchen.run("Slice[apple_0]").code is SkillCode.NOT_ABLE
