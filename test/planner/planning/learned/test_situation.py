"""What an agent knows after the lines of its dialogue."""

from __future__ import annotations

from planner.planning.learned.progress import Situation

ENTITIES = ["Object.100: table in kitchen_0", "Object.101: chest of drawers closed in bedroom_0"]
POSITIONS = {100: (1.0, 2.0), 101: (5.0, 6.0)}


def begun() -> Situation:
    situation = Situation()
    situation.begin(ENTITIES, POSITIONS)
    situation.told(
        [
            "Add Object.102: cup dirty with the Object.100",
            "Add Object.103: bowl with the Object.101",
        ]
    )
    return situation


def test_furniture_and_things_are_read() -> None:
    now = begun()
    assert [(p.class_name, p.room) for p in now.pieces.values()] == [
        ("table", "kitchen_0"),
        ("chest_of_drawers", "bedroom_0"),
    ]
    assert now.pieces[101].is_open is False
    assert (now.things[102].class_name, now.things[102].support) == ("cup", 100)
    assert now.things[102].states == {"clean": False}
    assert now.place_of(103) == 101
    assert now.room_class(100) == "kitchen"


def test_a_thing_is_carried_and_put_down() -> None:
    now = begun()
    now.ended("Navigate[Object.102]", succeeded=True)
    now.ended("Pick[Object.102]", succeeded=True)
    now.told(["Update Object.102 (picked): cup dirty"])
    assert now.held == [102]
    assert now.place_of(102) is None
    now.ended("Navigate[Object.101]", succeeded=True)
    now.ended("Open[Object.101]", succeeded=True)
    assert now.pieces[101].is_open
    assert now.position_m == (5.0, 6.0)
    now.ended("Place[Object.102, within, Object.101, next_to, Object.103]", succeeded=True)
    now.told(["Update Object.102: cup with the Object.101"])
    assert now.held == []
    assert now.place_of(102) == 101
    assert now.things[102].first == 100
    assert now.beside == {102: 103}
    # It was called dirty before and is not any more.
    assert (102, "clean") in now.made


def test_failures_are_counted_and_nearness_is_lost() -> None:
    now = begun()
    now.ended("Navigate[Object.102]", succeeded=True)
    now.ended("Pick[Object.102]", succeeded=False)
    assert now.failures == {"Pick[Object.102]": 1}
    assert now.near is None
    assert now.calls == 2


def test_what_others_did_is_taken_as_done() -> None:
    now = begun()
    now.see_others({"agent_1": "ExploreFurniture[Object.101]"})
    assert now.explored[101] == 0
    now.see_others({"agent_1": "Clean[Object.102]"})
    assert now.explored[101] == 1
    now.see_others({})
    assert (102, "clean") in now.made
    assert now.near is None


def test_removed_things_are_forgotten_and_other_lines_ignored() -> None:
    now = begun()
    now.told(["Remove Object.102", "No object updates.", "Add nonsense"])
    assert list(now.things) == [103]


def test_what_failed_is_kept_until_something_does_not() -> None:
    now = begun()
    now.ended("Navigate[Object.100]", succeeded=True)
    now.ended("Navigate[Object.101]", succeeded=False)
    assert [str(call) for call in now.failed_here] == ["Navigate[Object.101]"]
    assert now.failed_looks(101) == 1
    # Who did not get there did not walk to and fro.
    assert now.walks == 1
    now.ended("ExploreFurniture[Object.100]", succeeded=True)
    assert not now.failed_here
    assert now.failed_looks(101) == 1
    assert now.walks == 0
