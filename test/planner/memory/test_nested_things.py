"""Whatever is put into and onto things, the memory loses nothing and has no thing in itself."""

from __future__ import annotations

from hypothesis import strategies as st
from memory_samples import layout_of
from random_cases import random_cases

from planner.memory.effects import effects
from planner.memory.entity_list import EntityList, Provenance
from planner.memory.updater import Facts, Operation
from planner.parts.calls import parse_call
from planner.world.belief import OperationKind, Source
from planner.world.geometry import Vec3
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import Relation

THINGS = ("storage_box", "mixing_bowl", "pan", "plate", "apple")
LAYOUT = layout_of(2)
BY_HAND = Provenance(0.0, "test", Source.SEEN, "agent_0")

move = st.tuples(st.integers(0, 4), st.integers(0, 6), st.sampled_from(["on", "within"]))


def remembered() -> EntityList:
    entities = EntityList(LAYOUT)
    added = [
        Operation(
            OperationKind.ADD,
            description=name,
            position_m=(0.0, 0.0, 0.7),
            facts=Facts(name, (0.1, 0.1, 0.1), "table_0", Relation.ON, "hall_0", {}),
        )
        for name in THINGS
    ]
    assert len(entities.apply(added, BY_HAND).ids) == len(THINGS)
    return entities


def holders(entities: EntityList, name: str) -> list[str]:
    """What a thing is in or on, up to the furniture or the agent."""
    found: list[str] = []
    entity = entities.named(name)
    while entity is not None and not entity.is_furniture and entity.parent is not None:
        assert entity.parent not in [name, *found], f"{entity.parent} is in or on itself"
        found.append(entity.parent)
        entity = entities.named(entity.parent)
    return found


def end(entities: EntityList, call: str, at: Vec3) -> None:
    done = SkillResult(SkillCode.SUCCESS, "Successful execution!", position_m=at)
    entities.apply(effects("agent_0", parse_call(call), done, entities, LAYOUT), BY_HAND)


@random_cases(30, 500, st.lists(move, max_size=8))
def test_what_is_in_a_thing_goes_where_that_goes(moves: list[tuple[int, int, str]]) -> None:
    entities = remembered()
    names = [e.name for e in entities.entities if not e.is_furniture]
    places = [*names, "table_0", "table_1"]
    for step, (which, where, relation) in enumerate(moves):
        thing, place = names[which], places[where]
        if thing in (place, *holders(entities, place)):
            continue  # Nobody can put a thing into what it holds.
        at = (1.0 + step, 0.2, 0.7)
        load = [name for name in names if thing in holders(entities, name)]
        end(entities, f"Pick[{thing}]", at)
        assert holders(entities, thing) == ["agent_0"]
        assert [name for name in names if thing in holders(entities, name)] == load
        end(entities, f"Place[{thing}, {relation}, {place}, None, None]", at)
        assert holders(entities, thing)[0] == place
        for name in (thing, *load):
            entity = entities.named(name)
            assert entity is not None
            assert entity.position_m == at
    assert [e.name for e in entities.entities if not e.is_furniture] == names
    assert all(holders(entities, name)[-1] in ("table_0", "table_1") for name in names)
