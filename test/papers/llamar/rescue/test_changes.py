"""What a world says that a skill changed, from its states to the memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from papers.llamar.rescue.backend import RescueBackend
from planner.memory.memory import Memory
from planner.memory.updater import Facts, Operation
from planner.world.belief import OperationKind
from planner.world.errors import FileError
from planner.world.house_checks import load_episode
from planner.world.primitive import CHANGED, changes_text, read_changes
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.state import EntityState
from planner.world.vocabulary import Relation

REGION, PERSON, DEPOSIT = "caldor_fire_region_1", "lost_person_timmy_6", "deposit_facility_5"
USE = SkillCall("UseSand", (REGION,))


@pytest.fixture(scope="module")
def start() -> dict[str, EntityState]:
    episode, house = load_episode("rescue-1-agents-2")
    backend = RescueBackend()
    backend.reset(house, episode, 0)
    state = backend.world_state()
    assert state is not None
    return dict(state.entities)


@pytest.fixture
def memory(start: dict[str, EntityState]) -> Memory:
    _, house = load_episode("rescue-1-agents-2")
    made = Memory(house, None)
    things = (start[name] for name in (REGION, PERSON))
    made.edit(
        [
            Operation(
                OperationKind.ADD,
                description=thing.class_name,
                position_m=thing.box.center_m,
                name=thing.name,
                facts=Facts(
                    thing.class_name,
                    thing.size_m,
                    thing.parent,
                    thing.relation,
                    thing.room,
                    thing.states or {},
                ),
            )
            for thing in things
        ],
        "test",
        0.0,
    )
    return made


def entity(memory: Memory, name: str):
    return next(each for each in memory.entities if each.name == name)


def note(memory: Memory, text: str) -> None:
    result = SkillResult(SkillCode.SUCCESS, "", {CHANGED: text})
    memory.note_result("agent_0", USE, result, 1.0)


def test_one_value_takes_the_place_of_another(
    start: dict[str, EntityState], memory: Memory
) -> None:
    hot = {**start, REGION: replace(start[REGION], states={"burning": True, "heat_high": True})}
    text = changes_text(start, hot, [REGION, PERSON])
    assert read_changes({CHANGED: text}).keys() == {REGION}
    note(memory, text)
    assert entity(memory, REGION).states == {"burning": True, "heat_high": True}
    out = {**hot, REGION: replace(start[REGION], states={"burning": False, "chemical": True})}
    note(memory, changes_text(hot, out, [REGION]))
    # That it does not burn is known, not just unmentioned.
    assert entity(memory, REGION).states == {"burning": False, "chemical": True}


def test_what_is_carried_is_held_and_what_was_dropped_off_is_within(
    start: dict[str, EntityState], memory: Memory
) -> None:
    held = replace(start[PERSON], parent="agent_1", relation=Relation.HELD)
    note(memory, changes_text(start, {**start, PERSON: held}, [PERSON]))
    found = entity(memory, PERSON)
    assert (found.parent, found.relation, found.picked) == ("agent_1", Relation.HELD, True)
    inside = replace(held, parent=DEPOSIT, relation=Relation.WITHIN)
    note(memory, changes_text({PERSON: held}, {PERSON: inside}, [PERSON]))
    found = entity(memory, PERSON)
    assert (found.parent, found.relation, found.picked) == (DEPOSIT, Relation.WITHIN, False)


def test_what_is_unknown_or_did_not_change_is_left_out(
    start: dict[str, EntityState], memory: Memory
) -> None:
    assert changes_text(start, start, start) == ""
    assert read_changes({}) == {}
    before = memory.entities
    note(memory, '{"nobody_9": {"states": {"burning": false}}}')
    assert memory.entities == before


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("put out", "Invalid JSON"),
        ('{"fire_1": {"heat": 3}}', "fire_1.heat: Extra inputs"),
        ('{"fire_1": {"states": {"burning": "perhaps"}}}', "fire_1.states.burning"),
        ('{"fire_1": {"position_m": [1, NaN, 0]}}', "fire_1.position_m"),
    ],
)
def test_what_cannot_be_read_names_the_field(memory: Memory, text: str, said: str) -> None:
    with pytest.raises(FileError, match=said):
        note(memory, text)
