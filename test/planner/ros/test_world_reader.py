"""The bytes of /world/state, read without rclpy, say what rclpy reads."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from planner_msgs.msg import WorldState as WorldMessage
from rclpy.serialization import deserialize_message, serialize_message

from planner.ros.world_messages import WorldMessages
from planner.ros.world_reader import WorldReader
from planner.world import entity_bytes
from planner.world.entity_bytes import EntityReader
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.geometry import Pose
from planner.world.house import House
from planner.world.serialized import stamp_of
from planner.world.state import WorldState
from planner.world.vocabulary import State
from planner.world.wire import world_record
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


@pytest.fixture
def backend(small_house: House, small_episode: Episode) -> EmbeddedBackend:
    made = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    made.reset(small_house, small_episode, 0)
    return made


def state_of(backend: EmbeddedBackend) -> WorldState:
    state = backend.world_state()
    assert state is not None
    return state


def test_it_reads_what_rclpy_reads(backend: EmbeddedBackend) -> None:
    backend.step(1.25)
    message = WorldMessages().message(state_of(backend))
    data = serialize_message(message)
    assert WorldReader().read(data) == world_record(message)
    assert stamp_of(data) == 1.25


def test_what_did_not_change_is_the_same_record(backend: EmbeddedBackend) -> None:
    reader, messages = WorldReader(), WorldMessages()
    first = reader.read(serialize_message(messages.message(state_of(backend))))
    world = backend._world
    assert world is not None
    world.move_agent(world.agents["agent_0"], 1.0, 1.0, 0.3)
    second = reader.read(serialize_message(messages.message(state_of(backend))))
    assert second.entities["agent_0"] != first.entities["agent_0"]
    assert second.entities["cup_0"] is first.entities["cup_0"]


def test_what_fills_the_space_between_fields_changes_no_record(backend: EmbeddedBackend) -> None:
    message = WorldMessages().message(state_of(backend))
    data, reader = bytearray(serialize_message(message)), WorldReader()
    first = reader.read(bytes(data))
    # The first entity's kind is one byte; the length of its name follows at the next multiple of 4.
    house = 4 + 8 + 4 + len(message.house) + 1
    episode = -(-house // 4) * 4 + 4 + len(message.episode_id) + 1
    count = 4 + -(-(episode - 4) // 8) * 8 + 16
    data[count + 5 : count + 8] = bytes(255 - value for value in data[count + 5 : count + 8])
    second = reader.read(bytes(data))
    assert bytes(data) != serialize_message(message)
    assert all(second.entities[name] is first.entities[name] for name in first.entities)


def test_whatever_changes_it_reads_what_rclpy_reads(backend: EmbeddedBackend) -> None:
    rng = random.Random(3)
    start = state = state_of(backend)
    reader, last = WorldReader(), None
    for step in range(300):
        entities = dict((start if rng.random() < 0.05 else state).entities)
        for name in rng.sample(sorted(entities), rng.randint(0, 3)):
            old = entities[name]
            x, y, z = old.pose.position_m
            pose = Pose.planar(x + rng.random(), y, rng.random(), z)
            texts = rng.choice(["table_0", "table_1", "sink_0", "hamper_00", None])
            change = rng.choice(
                [
                    {"pose": pose},
                    {"parent": texts},
                    {"pose": pose, "room": texts},
                    {"parent": texts, "room": rng.choice(["table_0", "x" * 14, None])},
                    {"states": {State.CLEAN: rng.random() < 0.5}},
                    {"size_m": (rng.random(), 1.0, 1.0)},
                    {"holding": texts},
                ]
            )
            entities[name] = replace(old, **change)
        if rng.random() < 0.03:
            entities.pop(rng.choice(sorted(entities)))
        if rng.random() < 0.1:
            items = list(entities.items())
            rng.shuffle(items)
            entities = dict(items)
        state = replace(state, step=step, revision=step, entities=entities)
        data = serialize_message(WorldMessages().message(state))
        found = reader.read(data)
        assert found == world_record(deserialize_message(data, WorldMessage))
        assert list(found.entities) == list(entities)
        assert_told(reader.changed, last, found)
        last = found


def assert_told(changed, last: WorldState | None, found: WorldState) -> None:
    """`changed` is what is another record than before, or gone; and no more than that."""
    if last is None:
        assert changed is None
        return
    old, new = last.entities, found.entities
    assert set(changed) == {n for n in {*old, *new} if old.get(n) is not new.get(n)}
    # A record is another one only where something about it is.
    assert all(old.get(n) != new.get(n) for n in changed)


def test_equal_entities_that_moved_in_the_message_are_the_same_records(backend) -> None:
    first = state_of(backend)
    name = next(iter(first.entities))
    reader = WorldReader()
    seen = reader.read(serialize_message(WorldMessages().message(first)))
    for length in range(9):
        longer = replace(first.entities[name], parent="x" * length or None)
        state = replace(first, entities={**first.entities, name: longer})
        # Of all that follows a text that is longer the bytes are elsewhere, the values as before.
        data = bytearray(serialize_message(WorldMessages().message(state)))
        for place, owned in enumerate(bytes(reader_fields(bytes(data)))):
            data[4 + place] ^= 0 if owned else 0x5A
        now = reader.read(bytes(data))
        assert now == replace(world_record(deserialize_message(bytes(data), WorldMessage)))
        assert set(reader.changed) <= {name}
        assert all(now.entities[n] is seen.entities[n] for n in seen.entities if n != name)


def reader_fields(data: bytes) -> bytes:
    """Of each byte after the first four whether it counts; stamp, step and revision are left."""
    reader = WorldReader()
    state = reader.read(data)
    flags = bytearray(reader._fields.tobytes())
    head = 8 + 4 + len(b"map\0") + 4 + len(state.house) + 1
    counts = flags.index(b"\1\1\1\1", head + 4 + len(state.episode_id) + 1)
    flags[:counts] = b"\1" * counts
    return bytes(flags)


def test_every_shortened_message_is_an_error(backend: EmbeddedBackend) -> None:
    data = serialize_message(WorldMessages().message(state_of(backend)))
    for length in range(4, len(data) - 1, 7):
        with pytest.raises(PlannerError, match="no WorldState"):
            WorldReader().read(data[:length])
    with pytest.raises(ValueError, match="no header"):
        stamp_of(data[:11])


def read_or_refused(reader: WorldReader, data: bytes) -> WorldState | None:
    try:
        return reader.read(data)
    except PlannerError:
        return None


@pytest.mark.parametrize("seed", range(4))
def test_after_another_message_it_reads_what_it_reads_alone(
    backend: EmbeddedBackend, seed: int
) -> None:
    rng = random.Random(seed)
    good = serialize_message(WorldMessages().message(state_of(backend)))
    reader = WorldReader()
    whole = reader.read(good)
    for _ in range(150):
        data = bytearray(good)
        for _ in range(rng.randint(1, 3)):
            data[rng.randrange(4, len(data))] = rng.choice([0, 1, 2, 5, 97, 255])
        at = rng.randrange(4, len(data))
        kind = rng.randrange(4)
        if kind == 0:
            del data[at:]
        elif kind == 1:
            del data[at : at + rng.choice([1, 4, 8, 16])]
        elif kind == 2:
            data[at:at] = bytes(rng.choice([1, 4, 8, 16]))
        alone = read_or_refused(WorldReader(EntityReader()), bytes(data))
        assert repr(read_or_refused(reader, bytes(data))) == repr(alone)
        # A message that is none spoils nothing of the next.
        assert reader.read(good) == whole


def test_streams_share_the_entities_that_they_have_in_common(backend: EmbeddedBackend) -> None:
    first = state_of(backend)
    cup = replace(first.entities["cup_0"], pose=Pose.planar(1.0, 1.0))
    # A longer name before them moves all that follows by four bytes.
    second = replace(first, episode_id="four" + first.episode_id, entities=dict(first.entities))
    other = replace(first, entities={**first.entities, "cup_0": cup})
    shared = EntityReader()
    for state in (first, second, other, first):
        data = serialize_message(WorldMessages().message(state))
        found = WorldReader(shared).read(data)
        assert found == WorldReader(EntityReader()).read(data)
        assert found == world_record(deserialize_message(data, WorldMessage))
        again = WorldReader(shared).read(data)
        assert all(again.entities[name] is found.entities[name] for name in found.entities)


def test_only_so_many_entities_are_kept(backend: EmbeddedBackend, monkeypatch) -> None:
    monkeypatch.setattr(entity_bytes, "_MOST_KEPT", 3)
    reader = EntityReader()
    data = serialize_message(WorldMessages().message(state_of(backend)))
    assert WorldReader(reader).read(data) == WorldReader(EntityReader()).read(data)
    assert 0 < len(reader._kept) <= 3


def test_a_world_without_entities_is_read() -> None:
    assert WorldReader().read(serialize_message(WorldMessage(house="small"))).house == "small"
