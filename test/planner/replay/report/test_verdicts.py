"""The memory against the truth over time."""

from __future__ import annotations

from planner.replay.report.document import Level
from planner.replay.report.messages import Entry, Event, MemoryEdits, MemoryState, Status
from planner.replay.report.tracks import Location, TrueWorld, WorldClock
from planner.replay.report.verdicts import memory_of

CLOCK = WorldClock(0)
S = 1_000_000_000
CUP = Entry("cup_100", "cup", 1.0, 1.0, 0.8, picked=False)


def at(t_s, content):
    return Event(t_s * S, None, content)


def truth(**spots):
    world = TrueWorld()
    for name, places in spots.items():
        world.classes[name] = "cup"
        world.spots[name] = [
            Location(t_s * S, float(t_s), x, 1.0, 0.8, "table_0", holder)
            for t_s, x, holder in places
        ]
    return world


def test_without_its_topics_there_is_no_memory() -> None:
    assert memory_of([], [], [], None, CLOCK) is None


def test_updates_are_followed_from_the_snapshot_on() -> None:
    snapshot = at(1, MemoryState(3, {100: CUP}))
    moved = Entry("cup_100", "cup", 2.0, 1.0, 0.8, picked=False)
    updates = [
        at(0, MemoryEdits(3, ((101, CUP),))),
        at(2, MemoryEdits(4, ((100, moved),))),
        at(3, MemoryEdits(7, ((100, None),))),
    ]
    found = memory_of([snapshot], updates, [], None, CLOCK)
    assert found is not None
    assert [(p.t_s, p.remembered, p.true) for p in found.points] == [
        (0.0, 1, None),
        (1.0, 1, None),
        (2.0, 1, None),
        (3.0, 0, None),
    ]
    assert found.lost_updates == 2
    assert [(b.t_s, b.t_end_s, b.x_m) for b in found.believed] == [
        (0.0, 1.0, 1.0),
        (1.0, 2.0, 1.0),
        (2.0, 3.0, 2.0),
    ]


def test_it_is_compared_with_what_was_true_at_that_time() -> None:
    world = truth(cup_0=[(0, 1.1, ""), (5, 4.0, "")], cup_1=[(0, 9.0, "")])
    found = memory_of([at(1, MemoryState(0, {100: CUP}))], [], [], world, CLOCK)
    assert found is not None
    assert [(p.t_s, p.true, p.matched, p.precision, p.recall, p.error_m) for p in found.points] == [
        (1.0, 2, 1, 1.0, 0.5, 0.1),
        (5.0, 2, 0, 0.0, 0.0, None),
    ]


def test_what_is_in_a_hand_does_not_count() -> None:
    held = Entry("cup_100", "cup", 1.0, 1.0, 0.8, picked=True)
    world = truth(cup_0=[(0, 1.0, "agent_0")])
    found = memory_of([at(1, MemoryState(0, {100: held}))], [], [], world, CLOCK)
    assert found is not None
    (point,) = found.points
    assert (point.remembered, point.true, point.precision, point.recall) == (0, 0, None, None)


def test_the_updater_is_named_by_the_memory_s_own_diagnostics() -> None:
    other = Status(None, "x", "ok", "bridge", {"updater": "none"})
    ours = Status(Level.WARNING, "memory: entities", "ok", "memory", {"updater": "learned"})
    found = memory_of([at(1, MemoryState(0, {}))], [], [at(1, (ours, other))], None, CLOCK)
    assert found is not None
    assert found.updater == "learned"
