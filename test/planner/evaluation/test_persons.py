"""The judge's predicates about persons."""

from dataclasses import replace

import pytest

from planner.episodes.corrections import draft_of
from planner.evaluation.constraints import phrase
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.predicates import with_persons
from planner.evaluation.progress import complaint
from planner.evaluation.scene import Scene
from planner.world.errors import FileError, PlannerError
from planner.world.geometry import Pose
from planner.world.house_checks import load_shipped_house
from planner.world.person import SIZES_M, Person, Posture
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind, Relation

HOUSE = load_shipped_house("train_0")


def entity(name: str, kind: EntityKind, x_m: float = 0.0, room: str = "kitchen_0") -> EntityState:
    return EntityState(
        name=name,
        kind=kind,
        class_name=name.rpartition("_")[0],
        instance_id=0,
        pose=Pose.planar(x_m, 0.0),
        size_m=SIZES_M[Posture.STANDING],
        parent=None,
        relation=None,
        room=room,
    )


def person(*done: str, name: str = "person_0") -> EntityState:
    return replace(entity(name, EntityKind.OBJECT), person=Person("Ann", done=done))


def world(*entities: EntityState, step: int = 0) -> WorldState:
    rooms = (entity(room.name, EntityKind.ROOM) for room in HOUSE.rooms)
    named = {e.name: e for e in (*rooms, *entities)}
    return WorldState(float(step), step, step + 1, HOUSE.name, "persons", named)


@pytest.mark.parametrize(
    ("predicate", "done", "others", "found"),
    [
        ("is_met", ("met",), (), {""}),
        ("is_met", ("told time",), (), set()),
        ("is_told", ("told joke: Knock, knock.",), ("joke", "time"), {"joke"}),
        ("is_told", ("told count:3",), ("count:3", "count"), {"count:3"}),
        ("is_told", ("told jokes",), ("joke",), set()),
        (
            "is_told",
            ("told answer: It is (so).",),
            ("answer: ...(so)...", "...not"),
            {"answer: ...(so)..."},
        ),
        ("is_guided", ("guided kitchen_0",), ("kitchen_0", "bedroom_0"), {"kitchen_0"}),
        ("is_followed", ("followed", "followed bedroom_0"), ("anywhere",), {"anywhere"}),
        ("is_followed", ("followed", "followed bedroom_0"), ("kitchen_0",), set()),
        ("is_guided", ("followed kitchen_0",), ("kitchen_0",), set()),
    ],
)
def test_what_was_done_with_a_person(
    predicate: str, done: tuple[str, ...], others: tuple[str, ...], found: set[str]
) -> None:
    scene = Scene(HOUSE, world(person(*done)).entities)
    assert with_persons(scene, predicate, "person_0", others) == found


@pytest.mark.parametrize(
    ("x_m", "room", "near"),
    [(1.5, "kitchen_0", True), (1.6, "kitchen_0", False), (0.5, "hallway_0", False)],
)
def test_an_agent_is_near_a_person_of_its_room(x_m: float, room: str, near: bool) -> None:
    agent = entity("agent_0", EntityKind.AGENT, x_m, room)
    scene = Scene(HOUSE, world(person(), agent).entities)
    assert bool(with_persons(scene, "is_near_person", "agent_0", ["person_0"])) is near


def test_a_thing_is_handed_over_while_the_person_holds_it() -> None:
    cup = replace(entity("cup_0", EntityKind.OBJECT), parent="person_0", relation=Relation.HELD)
    people = (person(), person(name="person_1"))
    for thing, found in ((cup, {"person_0"}), (replace(cup, relation=Relation.ON), set())):
        scene = Scene(HOUSE, world(*people, thing).entities)
        others = ["person_0", "person_1"]
        assert with_persons(scene, "is_handed_over", "cup_0", others) == found


def goal(name: str, **args: object) -> dict[str, object]:
    return {"propositions": [{"function_name": name, "args": args}]}


def test_the_evaluator_follows_agents_where_they_are_asked_for() -> None:
    document = {
        "propositions": [
            {"function_name": "is_met", "args": {"persons": ["person_0"]}},
            {
                "function_name": "is_near_person",
                "args": {"agents": ["agent_0"], "persons": ["person_0"]},
            },
        ]
    }
    far = entity("agent_0", EntityKind.AGENT, 4.0)
    judge = Evaluator(read_evaluation(document, "test"), HOUSE, world(person(), far))
    assert judge.progress.percent_complete == 0
    assert judge.update(world(person("met"), far, step=1)).percent_complete == 0.5
    beside = entity("agent_0", EntityKind.AGENT, 1.0)
    assert judge.update(world(person("met"), beside, step=2)).success
    assert not judge.update(world(person("met"), far, step=3)).success


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (goal("is_met", persons=["person_0"]), "person_0 greeted"),
        (goal("is_told", persons=["person_0"], texts=["time"]), "person_0 told time"),
        (goal("is_followed", persons=["person_0"]), "person_0 followed to anywhere"),
        (
            goal("is_handed_over", objects=["cup_0"], persons=["person_0", "person_1"]),
            "cup_0 handed over to person_0 or person_1",
        ),
    ],
)
def test_propositions_have_words(document: dict[str, object], text: str) -> None:
    (proposition,) = read_evaluation(document, "test").propositions
    assert phrase(proposition) == text
    assert complaint(proposition).startswith("The subtask ")


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        (goal("is_met", objects=["person_0"]), "is_met takes persons"),
        (goal("is_told", persons=["person_0"]), "is_told takes persons and texts"),
        (goal("is_guided", persons=["person_0"]), "is_guided takes persons and places"),
        (goal("is_met", persons=["cup_0"]), "cup_0 is not a person"),
        (goal("is_met", persons=["person_5"]), "there is no entity 'person_5'"),
        (goal("is_guided", persons=["person_0"], places=["cup_0"]), "cup_0 is not a room"),
        (goal("is_near_person", agents=["cup_0"], persons=["person_0"]), "not an agent"),
    ],
)
def test_a_bad_goal_is_refused_with_its_reason(document: dict[str, object], reason: str) -> None:
    state = world(person(), entity("cup_0", EntityKind.OBJECT))
    with pytest.raises(FileError, match=reason):
        Evaluator(read_evaluation(document, "test"), HOUSE, state)


def test_persons_are_not_in_the_published_format() -> None:
    evaluation = read_evaluation(goal("is_met", persons=["person_0"]), "test")
    with pytest.raises(PlannerError, match="corrections cannot say what is done with persons"):
        draft_of(evaluation)
