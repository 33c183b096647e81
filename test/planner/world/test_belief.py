from __future__ import annotations

from planner.world.belief import Belief, BeliefNode, StandIns, guess_states, score_of, take_guesses
from planner.world.vocabulary import EntityKind


def test_guesses_travel_among_the_states_of_a_message_with_their_scores() -> None:
    guesses = (("pen", 0.55), ("toy_airplane", 0.3), ("cup", 0.05))
    states = {"clean": True, "maybe_clean": True, "maybe_20_fork": False}
    assert take_guesses({**states, **guess_states(guesses)}) == (states, guesses)
    assert take_guesses({"clean": False}) == ({"clean": False}, ())


def test_what_is_no_guess_has_no_score() -> None:
    assert score_of((("pen", 0.5),), "pen") == 0.5
    assert score_of((("pen", 0.5),), "cup") == 0.0


def thing(class_name: str, number: int | None, name: str = "") -> BeliefNode:
    called = name or f"{class_name}_{number}"
    return BeliefNode(called, EntityKind.OBJECT, class_name, number, (0.0, 0.0, 0.0))


def robot(holding: str | None = None) -> BeliefNode:
    return BeliefNode("agent_0", EntityKind.AGENT, "agent", None, (0.0, 0.0, 0.0), hands=(holding,))


def belief(*nodes: BeliefNode) -> Belief:
    return Belief(0.0, 1, {node.name: node for node in nodes})


def test_a_thing_is_found_by_its_class_and_number_where_no_name_is_that() -> None:
    cup, pen = thing("cup", 150, "cup_0"), thing("pen", 151, "cup_152")
    known = belief(cup, pen, thing("cup", 152, "cup_1"), thing("cup", None, "cup_2"))
    assert known.find("cup_150") is cup
    assert known.find("cup_152") is pen
    assert [known.find(word) for word in ("pen_150", "cup_153", "cup_", "150", "")] == [None] * 5


def test_a_name_gets_a_thing_of_its_class_and_keeps_it() -> None:
    stand_ins = StandIns(["cup_0", "cup_1", "book_0"])
    assert stand_ins.update(belief(thing("cup", 150), thing("pen", 151)))
    assert stand_ins.given == {"cup_0": "cup_150"}
    assert stand_ins.update(belief(thing("cup", 140), thing("cup", 150)))
    assert stand_ins.given == {"cup_0": "cup_150", "cup_1": "cup_140"}
    assert not stand_ins.update(belief(thing("cup", 140), thing("cup", 150), thing("cup", 160)))


def test_an_agent_that_is_no_longer_believed_in_makes_room() -> None:
    stand_ins = StandIns(["cup_0"])
    stand_ins.update(belief(thing("cup", 150)))
    assert stand_ins.update(belief(thing("cup", 151)))
    assert stand_ins.given == {"cup_0": "cup_151"}


def test_a_memory_that_knows_the_true_names_needs_none() -> None:
    stand_ins = StandIns(["cup_0"])
    assert not stand_ins.update(belief(thing("cup", 150, "cup_0"), thing("cup", 151)))
    assert stand_ins.given == {}


def test_a_thing_that_was_taken_is_the_one_that_was_meant_if_so_asked() -> None:
    two = thing("cup", 150), thing("cup", 151)
    for follow_hands, meant in ((True, "cup_151"), (False, "cup_150")):
        stand_ins = StandIns(["cup_0"], follow_hands=follow_hands)
        stand_ins.update(belief(*two, robot()))
        assert stand_ins.given == {"cup_0": "cup_150"}
        stand_ins.update(belief(*two, robot(holding="cup_151")))
        stand_ins.update(belief(*two, robot()))
        assert stand_ins.given == {"cup_0": meant}


def test_what_was_taken_first_stays_and_the_next_one_is_another() -> None:
    three = thing("cup", 150), thing("cup", 151), thing("cup", 152)
    stand_ins = StandIns(["cup_0", "cup_1"], follow_hands=True)
    for held in ("cup_152", None, "cup_151", None):
        stand_ins.update(belief(*three, robot(holding=held)))
    assert set(stand_ins.given.values()) == {"cup_151", "cup_152"}
    assert stand_ins.given["cup_0"] == "cup_152"
