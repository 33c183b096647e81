"""Persons of an episode in the embedded world."""

import math

import pytest

from planner.world.episode import Episode
from planner.world.errors import FileError
from planner.world.geometry import Vec3
from planner.world.house_checks import load_shipped_house
from planner.world.person import Person
from planner.world.primitive import Primitive, PrimitiveCode, PrimitiveName, PrimitiveResult
from planner.world.vocabulary import Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.people import APART_M


def episode(*people: dict[str, object], house: str = "train_0") -> Episode:
    place = load_shipped_house(house)
    return Episode.model_validate(
        {
            "version": 1,
            "episode_id": "people",
            "house": house,
            "instruction": "",
            "agents": [{"uid": "agent_0", "kind": "robot"}],
            "objects": [item.model_dump() for item in place.objects],
            "people": list(people),
        }
    )


def loaded(*people: dict[str, object]) -> EmbeddedBackend:
    backend = EmbeddedBackend()
    backend.reset(load_shipped_house("train_0"), episode(*people), 0)
    return backend


def test_a_person_stands_in_the_room_of_the_file() -> None:
    backend = loaded({"name": "Charlie", "clothes": ["shirt red"], "room": "kitchen_0"})
    entity = backend.world_state().entities["person_0"]
    assert entity.class_name == "person"
    assert entity.room == "kitchen_0"
    assert entity.person == Person("Charlie", ("red shirt",))
    house = load_shipped_house("train_0")
    assert house.room_at(*entity.pose.position_m[:2]) == "kitchen_0"


def test_who_sits_at_a_couch_sits_on_it() -> None:
    couch = next(f for f in load_shipped_house("train_0").furniture if f.class_name == "couch")
    people = [{"posture": "sitting", "room": couch.room, "at": couch.name} for _ in range(2)]
    entities = loaded(*people).world_state().entities
    for name in ("person_0", "person_1"):
        assert entities[name].parent == couch.name
        assert 0.2 < entities[name].pose.position_m[2] < 0.8
    first, second = entities["person_0"].box, entities["person_1"].box
    assert first.horizontal_gap_m(second) > 0


def test_persons_of_one_room_stand_apart_and_off_its_doors() -> None:
    house = load_shipped_house("train_0")
    backend = loaded(*({"room": "kitchen_0"} for _ in range(4)))
    entities = backend.world_state().entities
    points = [entities[f"person_{i}"].pose.position_m[:2] for i in range(4)]
    points.append(entities["agent_0"].pose.position_m[:2])
    apart = [math.dist(a, b) for i, a in enumerate(points) for b in points[:i]]
    assert min(apart) >= APART_M
    assert all(math.dist(p, d.center_m) > 0.5 for p in points[:4] for d in house.doors)


def test_a_camera_shows_a_person_in_the_colour_of_the_clothes() -> None:
    backend = loaded({"clothes": ["red shirt", "blue jeans"], "room": "kitchen_0"})
    world = backend._loaded()
    person, agent = world.things["person_0"], world.agents["agent_0"]
    agent.tilt_rad = 0.0
    world.move_agent(agent, person.x_m - 1.6, person.y_m, 0.0)
    frame = backend.observe("agent_0").cameras["hand"]
    shown = frame.rgb[frame.instances == person.instance_id].astype(int)
    red = shown[(shown[:, 0] > 100) & (shown[:, 0] > 2 * shown[:, 1])]
    assert len(shown) > 500
    assert len(red) > 100
    assert "person_0" in {s.name for s in backend.sightings("agent_0")}


@pytest.mark.parametrize(
    ("person", "field"),
    [
        ({"room": "cellar_0"}, "people.0.room"),
        ({"room": "kitchen_0", "at": "throne_0"}, "people.0.at"),
    ],
)
def test_a_person_in_no_place_is_an_error_with_its_field(
    person: dict[str, object], field: str
) -> None:
    with pytest.raises(FileError, match=f"people: {field}"):
        loaded(person)


def test_what_a_person_holds_is_in_the_hand() -> None:
    house = load_shipped_house("train_0")
    name = house.objects[0].name
    entity = loaded({"room": "kitchen_0", "holds": name}).world_state().entities[name]
    assert (entity.parent, entity.relation, entity.room) == ("person_0", Relation.HELD, "kitchen_0")


def test_a_world_without_persons_is_as_it_was() -> None:
    assert loaded().world_state().entities.keys() == {
        *(e.name for e in (*load_shipped_house("train_0").rooms,)),
        *(e.name for e in load_shipped_house("train_0").furniture),
        *(e.name for e in load_shipped_house("train_0").objects),
        "agent_0",
    }


def beside_ann(away_m: float) -> tuple[EmbeddedBackend, Vec3]:
    """A robot that faces a person over a distance, and where she is."""
    backend = loaded({"name": "Ann", "room": "kitchen_0"})
    world = backend._loaded()
    person, agent = world.things["person_0"], world.agents["agent_0"]
    world.move_agent(agent, person.x_m - away_m, person.y_m, 0.0)
    agent.room = person.room
    return backend, person.center_m


def ended(backend: EmbeddedBackend, primitive: Primitive) -> PrimitiveResult:
    handle = backend.start("agent_0", primitive)
    for _ in range(600):
        if (result := backend.poll(handle).result) is not None:
            return result
        backend.step(1 / 30)
    raise AssertionError("it does not end")


@pytest.mark.parametrize(
    ("name", "words", "away_m", "code"),
    [
        ("talk", "greet", 1.0, PrimitiveCode.SUCCESS),
        ("talk", "greet", 1.6, PrimitiveCode.TOO_FAR),
        ("talk", "shout", 1.0, PrimitiveCode.BAD_TARGET),
        ("talk", "", 1.0, PrimitiveCode.BAD_TARGET),
        ("talk", "ask age", 1.0, PrimitiveCode.NEED_UNMET),
        ("talk", "follow moon_0", 1.0, PrimitiveCode.UNREACHABLE),
        ("hand_over", "", 1.0, PrimitiveCode.HAND_EMPTY),
        ("take_from", "", 1.0, PrimitiveCode.NEED_UNMET),
        ("pick", "", 1.0, PrimitiveCode.NOTHING_THERE),
    ],
)
def test_what_can_be_done_with_a_person(
    name: str, words: str, away_m: float, code: PrimitiveCode
) -> None:
    backend, at_m = beside_ann(away_m)
    assert ended(backend, Primitive(name, at_m, words=words)).code is code


def test_nobody_answers_where_nobody_is() -> None:
    backend, (x, y, z) = beside_ann(1.0)
    talk = Primitive(PrimitiveName.TALK, (x + 1.5, y, z), words="greet")
    assert ended(backend, talk).code is PrimitiveCode.NOTHING_THERE


def test_a_robot_walks_around_a_person() -> None:
    backend, _ = beside_ann(1.0)
    world = backend._loaded()
    grid, person, agent = world.ground.grid(0.28), world.things["person_0"], world.agents["agent_0"]
    # Straight past the person, and past on the left.
    steps = [(n / 10, m) for n in range(-10, 11) for m in (0.0, 0.6, 0.8)]
    x, y = next(
        (x, y)
        for x, y in grid.free_points_m.tolist()
        if all(grid.is_free(x + dx, y + dy) for dx, dy in steps)
    )
    room = world.house.room_at(x, y)
    person.parent = f"floor_{room}"
    world.move(person, (x, y, 0.0, 0.0), room)
    world.move_agent(agent, x - 1.0, y, 0.0)
    handle = backend.start("agent_0", Primitive(PrimitiveName.NAVIGATE, (x + 1.0, y, 0.0)))
    gaps_m = []
    while (result := backend.poll(handle).result) is None:
        backend.step(1 / 30)
        gaps_m.append(math.hypot(agent.x_m - x, agent.y_m - y))
    assert result.succeeded
    assert agent.x_m > x + 0.9
    assert min(gaps_m) > 0.5


def test_persons_repeat_with_the_seed() -> None:
    people = [{"room": "kitchen_0"}, {"room": "bedroom_0"}]
    one, other = (loaded(*people).world_state() for _ in range(2))
    assert one.entities == other.entities


def test_a_person_walks_alone_when_the_file_says_so() -> None:
    stroll = {"after_s": 1.0, "to": "living_room_0"}
    backend = loaded({"room": "kitchen_0", "gesture": "waving", "strolls": [stroll]})
    start = backend.world_state().entities["person_0"].pose.position_m
    backend.step(0.5)
    assert backend.world_state().entities["person_0"].pose.position_m == start
    for _ in range(300):
        backend.step(0.1)
    entity = backend.world_state().entities["person_0"]
    assert entity.room == "living_room_0"
    # Who walks waves no more.
    assert entity.person == Person()


def test_nobody_walks_to_where_there_is_no_floor() -> None:
    with pytest.raises(
        FileError, match=r"people\.0\.strolls\.0\.to: there is no floor .* 'moon_0'"
    ):
        loaded({"room": "kitchen_0", "strolls": [{"after_s": 1.0, "to": "moon_0"}]})
