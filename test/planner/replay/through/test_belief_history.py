"""In what entity lists differ, and what they were when."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from planner.replay.through.belief_history import Kind, LiveList, differences, is_same
from planner.replay.through.recorded import EntityChangeReceived, EntityListReceived
from planner.world.belief import Edit, Entity, MemoryChange, OperationKind


def thing(number: int, name: str = "", x: float = 0.0, **fields: object) -> Entity:
    class_name = name.rpartition("_")[0] or "cup"
    made = Entity(number, name or f"cup_{number}", class_name, False, class_name, (x, 0.0, 0.0))
    return replace(made, **fields)


def kinds(live: list[Entity], replayed: list[Entity]) -> list[tuple[str, str, str]]:
    return [found.key for found in differences(live, replayed)]


def test_things_stand_for_each_other_by_their_names() -> None:
    assert kinds([thing(150, "cup_0")], [thing(160, "cup_0", 3.0)]) == [
        (Kind.MOVED, "cup_0", "cup_0")
    ]
    assert kinds([thing(150, "cup_0")], [thing(151, "cup_1")]) == []
    assert kinds([thing(150, "cup_0")], [thing(151, "mug_0")]) == [
        (Kind.REMOVED, "cup_0", ""),
        (Kind.ADDED, "", "mug_0"),
    ]


def test_names_that_a_memory_made_up_stand_for_nothing() -> None:
    live = [thing(150, x=0.0), thing(151, x=4.0)]
    replayed = [thing(150, x=4.05), thing(151, x=0.05)]
    assert kinds(live, replayed) == []
    assert kinds(live, [thing(150, x=2.0)]) == [
        (Kind.REMOVED, "cup_150", ""),
        (Kind.REMOVED, "cup_151", ""),
        (Kind.ADDED, "", "cup_150"),
    ]


def test_what_is_held_stands_for_what_is_held() -> None:
    held = thing(150, picked=True)
    assert kinds([held], [thing(170, x=9.0, picked=True)]) == []
    (found,) = differences([thing(150, "cup_0")], [thing(150, "cup_0", picked=True)])
    assert (found.kind, found.text) == (Kind.CHANGED, "picked 'yes' and not 'no'")


ENTITIES = st.lists(
    st.builds(
        thing,
        st.integers(100, 120),
        st.sampled_from(["", "cup_0", "cup_1", "mug_0"]),
        st.floats(-2, 2),
        picked=st.booleans(),
    ),
    unique_by=(lambda e: e.entity_id, lambda e: e.name),
    max_size=6,
)


@given(ENTITIES)
def test_a_list_does_not_differ_from_itself(entities: list[Entity]) -> None:
    assert differences(entities, entities) == []
    assert is_same(entities, entities)


@given(ENTITIES, ENTITIES)
def test_each_entity_is_added_removed_or_paired_once(
    live: list[Entity], replayed: list[Entity]
) -> None:
    found = differences(live, replayed)
    removed = [d.live for d in found if d.kind is Kind.REMOVED]
    added = [d.replayed for d in found if d.kind is Kind.ADDED]
    assert len(set(removed)) == len(removed) <= len(live)
    assert len(set(added)) == len(added) <= len(replayed)
    assert len(live) - len(removed) == len(replayed) - len(added)
    assert len({d.key for d in found}) == len(found)


def change(
    sequence: int, kind: OperationKind, entity: Entity, stamp_s: float
) -> EntityChangeReceived:
    return EntityChangeReceived(
        0, MemoryChange(sequence, stamp_s, "privileged", (Edit(kind, entity),))
    )


def test_a_gap_is_mended_by_the_next_snapshot() -> None:
    live = LiveList()
    cup, mug = thing(150), thing(151, "mug_0")
    live.change(change(1, OperationKind.ADD, cup, 1.0))
    assert live.history.at(9.0) is None, "nothing is known before the first snapshot"
    live.snapshot(EntityListReceived(0, 1.0, 1, (cup,)))
    live.change(change(2, OperationKind.REMOVE, cup, 2.0))
    live.change(change(4, OperationKind.ADD, cup, 4.0))
    assert live.history.at(4.0) == ()
    live.snapshot(EntityListReceived(0, 4.5, 4, (cup, mug)))
    live.change(change(5, OperationKind.REMOVE, mug, 5.0))
    assert live.history.at(1.5) == (cup,)
    assert live.history.at(4.7) == (cup, mug)
    assert live.history.at(5.0) == (cup,)
    assert live.mended == 1
