"""The planner's copy of the memory's changes: order, gaps, repairs (EPM-C26)."""

from __future__ import annotations

from planner.planning.planner_inputs import DeltaLog
from planner.world.belief import Edit, Entity, MemoryChange, OperationKind


def entity(number: int, text: str, *, picked: bool = False) -> Entity:
    return Entity(
        entity_id=number,
        name=f"cup_{number}",
        class_name="cup",
        is_furniture=False,
        description=text,
        position_m=(0.0, 0.0, 0.0),
        picked=picked,
    )


def change(sequence: int, kind: OperationKind, *entities: Entity) -> MemoryChange:
    return MemoryChange(sequence, 0.0, "test", tuple(Edit(kind, e) for e in entities))


ADD, UPDATE, REMOVE = OperationKind.ADD, OperationKind.UPDATE, OperationKind.REMOVE


def started() -> DeltaLog:
    log = DeltaLog()
    log.snapshot(0.0, 5, [entity(149, "cup")])
    return log


def test_check_26_lines_of_flags_places_and_removals() -> None:
    log = started()
    log.change(change(6, UPDATE, entity(149, "cup", picked=True)))
    assert log.lines(5, 6) == ["Update Object.149 (picked): cup"]
    log.change(change(7, UPDATE, entity(149, "cup with the Object.102")))
    assert log.lines(6, 7) == ["Update Object.149: cup with the Object.102"]
    log.change(change(8, REMOVE, entity(149, "cup")))
    assert log.lines(7, 8) == ["Remove Object.149"]


def test_several_edits_of_one_thing_are_reported_as_one() -> None:
    log = started()
    log.change(change(6, ADD, entity(150, "bowl")))
    log.change(change(7, UPDATE, entity(150, "bowl with the Object.101")))
    assert log.lines(5, 7) == ["Add Object.150: bowl with the Object.101"]


def test_only_what_the_belief_knows_is_reported() -> None:
    log = started()
    log.change(change(6, ADD, entity(150, "bowl")))
    assert log.lines(5, 5) == []
    assert log.lines(5, 6) == ["Add Object.150: bowl"]


def test_old_changes_are_ignored() -> None:
    log = started()
    log.change(change(4, REMOVE, entity(149, "cup")))
    assert log.sequence == 5
    assert not log.broken


def test_a_gap_is_found_and_repaired_from_the_next_snapshot() -> None:
    log = started()
    log.change(change(6, ADD, entity(150, "bowl")))
    log.change(change(9, UPDATE, entity(150, "bowl", picked=True)))
    assert log.broken
    assert log.gaps == 1
    now = [entity(150, "bowl", picked=True), entity(151, "fork")]
    log.snapshot(1.0, 9, now)
    assert not log.broken
    assert sorted(log.lines(6, 9)) == [
        "Add Object.151: fork",
        "Remove Object.149",
        "Update Object.150 (picked): bowl",
    ]


def test_a_memory_that_began_again_is_followed() -> None:
    log = started()
    log.snapshot(0.0, 1, [entity(149, "vase")])
    assert log.sequence == 1
    log.change(change(2, ADD, entity(150, "bowl")))
    assert log.lines(1, 2) == ["Add Object.150: bowl"]
