"""Changes applied to a keyframe give the whole state, and a state that was missed shows."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from planner.world.geometry import Pose
from planner.world.state import (
    KEYFRAME_PERIOD_S,
    EntityState,
    StateUpdate,
    UpdateDecoder,
    UpdateEncoder,
    WorldState,
    vanished,
)
from planner.world.vocabulary import EntityKind, Relation

TICK_S = 1 / 30


def entity(name: str, x_m: float = 0.0, **changes: object) -> EntityState:
    made = EntityState(
        name=name,
        kind=EntityKind.OBJECT,
        class_name="cup",
        instance_id=1,
        pose=Pose((x_m, 0.0, 0.0)),
        size_m=(0.1, 0.1, 0.1),
        parent="table_0",
        relation=Relation.ON,
        room="kitchen_0",
    )
    return replace(made, **changes)


def world(*entities: EntityState, step: int = 0, episode_id: str = "tidy") -> WorldState:
    found = {item.name: item for item in entities}
    return WorldState(step * TICK_S, step, step, "cottage", episode_id, found)


ENTITIES = st.builds(
    entity,
    st.sampled_from([f"cup_{number}" for number in range(5)]),
    st.sampled_from([0.0, 1.0, 2.0]),
    parent=st.sampled_from(["table_0", "shelf_0"]),
    states=st.sampled_from([None, {"clean": True}, {"clean": False}]),
)
# Each state is made without regard to the one before: things appear, move, change and go.
WORLDS = st.lists(st.lists(ENTITIES, max_size=6), min_size=1, max_size=70).map(
    lambda several: [world(*found, step=step) for step, found in enumerate(several)]
)


@given(WORLDS, st.sets(st.integers(0, 69)))
def test_updates_in_order_give_every_state(states: list[WorldState], wanted: set[int]) -> None:
    encoder, decoder = UpdateEncoder(), UpdateDecoder()
    before: WorldState | None = None
    for number, state in enumerate(states):
        found = decoder.decode(encoder.encode(state, keyframe=number in wanted))
        assert found == state
        assert not decoder.waiting
        assert decoder.missed == 0
        if before is None:
            assert decoder.changed is None
        else:
            names = before.entities.keys() | state.entities.keys()
            differ = {n for n in names if before.entities.get(n) != state.entities.get(n)}
            assert decoder.changed is not None
            assert set(decoder.changed) == differ
        before = state


@given(WORLDS, st.sets(st.integers(0, 69)))
def test_what_is_lost_shows_and_no_state_is_torn(states: list[WorldState], lost: set[int]) -> None:
    encoder, decoder = UpdateEncoder(), UpdateDecoder()
    updates = [encoder.encode(state) for state in states]
    last = None
    for number, update in enumerate(updates):
        if number in lost:
            continue
        found = decoder.decode(update)
        if found is None:
            assert decoder.waiting
            assert not update.keyframe
            continue
        assert found == states[number]
        assert decoder.missed == (0 if last is None else number - last - 1)
        last = number
    closing = encoder.repeat()
    assert closing is not None
    found = decoder.decode(closing)
    assert not decoder.waiting
    assert found == (None if last == len(states) - 1 else states[-1])


@given(WORLDS, st.integers(0, 69))
def test_a_late_joiner_is_served_by_the_first_keyframe(states: list[WorldState], late: int) -> None:
    encoder, decoder = UpdateEncoder(), UpdateDecoder()
    updates = [encoder.encode(state) for state in states][late:]
    begin = next((n for n, update in enumerate(updates) if update.keyframe), len(updates))
    found = [decoder.decode(update) for update in updates]
    assert found == [None] * begin + states[late + begin :]


def test_a_keyframe_comes_every_period_and_changes_are_small_between() -> None:
    encoder = UpdateEncoder()
    crowd = [entity(f"cup_{number}") for number in range(150)]
    states = [world(*crowd[1:], entity("cup_0", float(step)), step=step) for step in range(91)]
    updates = [encoder.encode(state) for state in states]
    times_s = [update.state.stamp_s for update in updates if update.keyframe]
    assert [round(time_s / KEYFRAME_PERIOD_S) for time_s in times_s] == [0, 1, 2, 3]
    assert {len(u.state.entities) for u in updates if not u.keyframe} == {1}


def test_entities_that_stay_the_same_are_the_same_records() -> None:
    encoder, decoder = UpdateEncoder(), UpdateDecoder()
    first = decoder.decode(encoder.encode(world(entity("cup_0"), entity("cup_1"))))
    copied = world(entity("cup_0"), entity("cup_1", 1.0), step=1)
    second = decoder.decode(encoder.encode(copied, keyframe=True))
    assert first is not None
    assert second is not None
    assert second.entities["cup_0"] is first.entities["cup_0"]
    assert second.entities["cup_1"] is not first.entities["cup_1"]


def test_a_restarted_bridge_is_no_continuation() -> None:
    decoder, old, new = UpdateDecoder(), UpdateEncoder(), UpdateEncoder()
    for step in range(5):
        decoder.decode(old.encode(world(entity("cup_0", float(step)), step=step + 100)))
    updates = [new.encode(world(entity("cup_1", float(step)), step=step)) for step in range(6)]
    # Of the new one all but the change numbered as the old one's next is lost.
    assert updates[5].sequence == 6
    assert not updates[5].keyframe
    assert decoder.decode(updates[5]) is None
    assert decoder.waiting
    assert decoder.decode(StateUpdate(updates[5].state, sequence=6)) is not None


def test_another_episode_begins_with_a_keyframe() -> None:
    encoder, decoder = UpdateEncoder(), UpdateDecoder()
    decoder.decode(encoder.encode(world(entity("cup_0"), step=9)))
    again, other = world(entity("cup_0")), world(entity("cup_0"), episode_id="cook")
    assert decoder.decode(encoder.encode(again)) == again
    assert decoder.decode(encoder.encode(other)) == other
    assert decoder.changed is None


def test_every_message_of_a_bag_of_before_is_a_whole_state() -> None:
    decoder = UpdateDecoder()
    states = [world(entity("cup_0", float(step)), step=step) for step in (0, 3, 4)]
    assert [decoder.decode(StateUpdate(state)) for state in states] == states
    assert decoder.missed == 0
    assert decoder.changed == ("cup_0",)


def test_what_is_sliced_has_not_vanished_and_what_is_gone_without_slices_has() -> None:
    tomato = entity("tomato_1", class_name="tomato")
    before = world(tomato, entity("cup_0")).entities
    slices = world(entity("tomato_slice_4", class_name="tomato_slice")).entities
    assert vanished(before, slices, ["tomato_1", "cup_0"]) == ["cup_0"]
    assert vanished(before, {}, ["tomato_1"]) == ["tomato_1"]
