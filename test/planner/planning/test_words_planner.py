"""Planner `words` in a toy world: what becomes of an instruction in plain English."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from planning_toys import THINGS, Outcome, ToyWorld, play

from planner.memory.query import Believed, ask
from planner.planning.planner import Task
from planner.planning.words_planner import Words, read_dialogue
from planner.world.skill import SkillCode, SkillResult
from planner.world.topics import InstructionCode
from planner.world.vocabulary import Relation

Make = Callable[..., ToyWorld]
ON, WITHIN = Relation.ON, Relation.WITHIN


def follow(world: ToyWorld, text: str, answers: Sequence[str | None] = ()) -> Outcome:
    task = Task(text, tuple(world.agents))
    return play(Words(task), world, task, answers=answers)


def blocked() -> SkillResult:
    return SkillResult.failure(SkillCode.UNREACHABLE, "The way is blocked.")


def end(outcome: Outcome) -> str:
    """What is said at the end."""
    last = outcome.decisions[-1]
    return last.failure or last.thought


@pytest.mark.parametrize("hidden", [(), ("book_0",), ("book_0", "apple_0")])
def test_does_what_the_words_say_also_with_things_that_must_be_found(
    toy_world: Make, hidden: tuple[str, ...]
) -> None:
    world = toy_world(*hidden)
    outcome = follow(world, "Put the book and the apple on the couch.")
    assert outcome.done
    assert world.things["book_0"] == world.things["apple_0"] == (ON, "couch_0")
    assert end(outcome) == "done: put the book and the apple on the couch"


def test_what_is_taken_for_something_else_is_brought_when_nothing_else_may_be_meant(
    toy_world: Make,
) -> None:
    things = {"plate_0": (ON, "table_1"), "plate_1": (ON, "table_1"), "tablet_0": (ON, "table_1")}
    world = toy_world(things=things)
    world.taken_for["plate_1"] = ("folder", (("plate", 0.9),))
    outcome = follow(world, "Put two plates and a candle on the couch.")
    assert {name for name, spot in world.things.items() if spot == (ON, "couch_0")} == {
        "plate_0",
        "plate_1",
    }
    thoughts = "; ".join(decision.thought for decision in outcome.decisions)
    assert "see from near whether plate_1 is 2 plates: " in thoughts
    assert "take plate_1 for 2 plates: most likely it is that" in thoughts
    world = toy_world(things=things)
    world.taken_for["plate_1"] = ("folder", (("book", 0.9),))
    assert "There are only 1 of 2 plates." in end(follow(world, "Put two plates on the couch."))


def test_all_are_those_in_every_room_and_where_such_things_are_kept(toy_world: Make) -> None:
    things = {f"cup_{n}": (ON, f"table_{n % 2}") for n in range(4)}
    world = toy_world("cup_3", things=things | {"cup_3": (WITHIN, "cabinet_0")})
    assert follow(world, "Put all cups in the sink.").done
    assert {spot for name, spot in world.things.items()} == {(WITHIN, "sink_0")}


def test_whatever_lies_somewhere_needs_a_look_there_only(toy_world: Make) -> None:
    world = toy_world("book_0", "lamp_0")
    outcome = follow(world, "Put everything that is on the living room table on the couch.")
    assert outcome.done
    assert world.things["book_0"] == world.things["lamp_0"] == (ON, "couch_0")
    assert not any("kitchen" in call or "cabinet" in call for _, call in outcome.calls)


def test_steps_come_in_their_order_also_if_the_first_thing_must_be_found(toy_world: Make) -> None:
    outcome = follow(
        toy_world("book_0"), "Put the book on the couch, then put the apple on the couch."
    )
    assert outcome.done
    placed = [call for _, call in outcome.calls if call.startswith("Place")]
    assert [call[6:10] for call in placed] == ["book", "appl"]


@pytest.mark.parametrize(("answer", "table"), [("the kitchen one", 0), ("in the living room", 1)])
def test_asks_which_one_and_goes_by_the_answer(toy_world: Make, answer: str, table: int) -> None:
    things = {"book_0": (ON, "couch_0")}
    world = toy_world(things=things)
    outcome = follow(world, "Put the book on the table.", [answer])
    question = outcome.decisions[0].question
    assert all(word in question for word in ("table", "kitchen", "living room"))
    assert not outcome.decisions[0].calls
    assert outcome.done
    assert world.things["book_0"] == (ON, f"table_{table}")


def test_the_answer_may_come_with_a_new_request(toy_world: Make) -> None:
    world = toy_world(things={"book_0": (ON, "couch_0")})
    asked = follow(world, "Put the book on the table.").failure
    outcome = follow(
        world, f"Put the book on the table.\nQuestion: {asked}\nAnswer: the kitchen one"
    )
    assert outcome.done
    assert world.things["book_0"] == (ON, "table_0")


def test_without_an_answer_the_rest_is_done_and_the_question_stays(toy_world: Make) -> None:
    world = toy_world(things={**THINGS, "apple_0": (ON, "floor_kitchen_0")})
    outcome = follow(world, "Put the cup on the couch and put the apple on the table.", [None])
    last = outcome.decisions[-1]
    assert last.end is InstructionCode.QUESTION
    assert last.question.startswith("Which table")
    assert world.things["cup_0"] == (ON, "couch_0")
    assert world.things["apple_0"] == (ON, "floor_kitchen_0")
    assert "done: put the cup on the couch. not done: put the apple on the table" in last.failure


def test_without_an_answer_that_matters_it_is_done(toy_world: Make) -> None:
    """The apple is on one of the tables: with that, the evaluator is content, too."""
    outcome = follow(toy_world(), "Put the apple on the table.", [None])
    assert outcome.decisions[0].question.startswith("Which table")
    assert outcome.done
    assert outcome.decisions[-1].thought == "done: put the apple on the table"
    assert not any(call.startswith("P") for _, call in outcome.calls)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "Put the ball behind the couch.",
            "Nothing measures whether something is behind the couch.",
        ),
        ("Stack the plates on the table.", "Nothing measures whether things are stacked."),
        ("Put the book under the table.", "Nothing measures whether something is under the table."),
    ],
)
def test_what_cannot_be_judged_is_refused_at_once(toy_world: Make, text: str, why: str) -> None:
    outcome = follow(toy_world(), text)
    (last,) = outcome.decisions
    assert last.end is InstructionCode.BAD_REQUEST
    assert why in last.failure
    assert outcome.calls == []


def test_what_is_to_be_found_first_is_found_on_the_way(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Find the spoon, then put the apple on the couch.")
    assert outcome.done
    assert outcome.world.things["apple_0"] == (ON, "couch_0")
    assert outcome.decisions[-1].thought.endswith(
        "The spoon: at chest_of_drawers_0 in living_room_0."
    )


def test_what_is_found_nowhere_does_not_keep_the_rest_from_being_done(toy_world: Make) -> None:
    world = toy_world()
    outcome = follow(world, "Put the kettle on the couch, then put the apple on the couch.")
    last = outcome.decisions[-1]
    assert last.end is InstructionCode.GAVE_UP
    assert "not done: put the kettle on the couch" in last.failure
    assert world.things["apple_0"] == (ON, "couch_0")


def test_what_must_not_be_touched_is_no_goal(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Put the apple on the couch but don't touch the cup.")
    assert outcome.done
    assert not any("cup" in call for _, call in outcome.calls)


def test_says_what_it_looks_for_in_the_words_of_the_instruction(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Put all toys on the couch.")
    said = " ".join(decision.thought for decision in outcome.decisions)
    assert "look for all toys in living_room_0" in said
    assert "_?" not in said


def test_somewhere_else_is_not_where_it_was_put_before(toy_world: Make) -> None:
    world = toy_world(things={"book_0": (ON, "couch_0"), "cup_0": (ON, "couch_0")})
    outcome = follow(world, "Clear the couch.")
    assert outcome.done
    assert "couch_0" not in {place for _, place in world.things.values()}
    assert sum(call.startswith("Place") for _, call in outcome.calls) == 2


def test_goes_where_it_shall_be(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Go to the living room.")
    assert outcome.done
    assert "Navigate[living_room_0]" in outcome.of("agent_0")


@pytest.mark.parametrize("hidden", [(), ("book_0",)])
def test_what_is_only_picked_up_stays_in_the_hand(toy_world: Make, hidden: tuple[str, ...]) -> None:
    outcome = follow(toy_world(*hidden), "Pick up the book and go to the living room.")
    assert outcome.done
    assert end(outcome) == "done: pick up the book; go to the living room"
    calls = outcome.of("agent_0")
    assert calls[-3:] == ["Pick[book_0]", "Navigate[living_room_0]", "Done[]"]


def test_what_it_is_in_is_opened_to_pick_it_up(toy_world: Make) -> None:
    world = toy_world(things={"cup_0": (WITHIN, "cabinet_0")})
    outcome = follow(world, "Pick up the cup.")
    assert outcome.done
    calls = outcome.of("agent_0")
    assert calls[-2:] == ["Pick[cup_0]", "Done[]"]
    assert "Open[cabinet_0]" in calls


def test_what_cannot_be_picked_up_is_told(toy_world: Make) -> None:
    world = toy_world()
    world.fault = lambda _agent, call: blocked() if call.name == "Pick" else None
    outcome = follow(world, "Pick up the book.")
    assert not outcome.done
    why = "Unexpected failure! - The way is blocked."
    assert end(outcome) == f"not done: pick up book_0 ({why})"


def test_a_walk_that_fails_is_tried_again_and_not_taken_for_done(toy_world: Make) -> None:
    world, failed = toy_world(), iter([True, False])
    world.fault = lambda _agent, _call: blocked() if next(failed, False) else None
    outcome = follow(world, "Go to the living room.")
    assert outcome.done
    assert outcome.of("agent_0").count("Navigate[living_room_0]") == 2


def test_a_way_that_stays_blocked_is_told(toy_world: Make) -> None:
    world = toy_world()
    world.fault = lambda _agent, call: blocked() if call.name == "Navigate" else None
    outcome = follow(world, "Go to the living room.")
    assert not outcome.done
    why = "Unexpected failure! - The way is blocked."
    assert end(outcome) == f"not done: go to living_room_0 ({why})"
    assert outcome.of("agent_0").count("Navigate[living_room_0]") == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Bring bitte die Tasse in die Küche.", InstructionCode.NO_GOAL),
        ("Put the bathtub in the teacup.", InstructionCode.BAD_REQUEST),
        ("Flumbox the cup on the table.", InstructionCode.NO_GOAL),
        ("put the cup in the sink and " * 400, InstructionCode.NO_GOAL),
        ("Pick[cup_0]; DROP TABLE memory;", InstructionCode.NO_GOAL),
        ("Put the cup on the table but not on the table.", InstructionCode.BAD_REQUEST),
        ("Bring me minus three cups.", InstructionCode.BAD_REQUEST),
    ],
)
def test_nothing_moves_for_what_cannot_be_done(
    toy_world: Make, text: str, code: InstructionCode
) -> None:
    outcome = follow(toy_world(), text)
    assert outcome.calls == []
    assert outcome.decisions[-1].end is code


def test_what_is_so_already_needs_no_motion(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Put the books that are on the shelf on the shelf.")
    assert outcome.done
    assert {call for _, call in outcome.calls} == {"Done[]"}


def test_the_goal_is_reported_before_anything_moves_and_again_with_an_answer(
    toy_world: Make,
) -> None:
    world = toy_world(things={"book_0": (ON, "couch_0")})
    outcome = follow(world, "Put the book on the table.", ["the kitchen one"])
    goals = [decision.goal for decision in outcome.decisions if decision.goal is not None]
    form = [{"move": {"the": "book"}, "to": {"on_top": {"the": "table"}}}]
    assert [goal["understood"] for goal in goals] == [form, form]
    assert [bool(goal["answers"]) for goal in goals] == [False, True]
    assert not outcome.decisions[0].calls


def test_a_dialogue_is_read_from_the_instruction() -> None:
    text, exchanges = read_dialogue(
        "Do it.\nQuestion: Which?\nAnswer: That.\nQuestion: Where?\nAnswer: "
    )
    assert text == "Do it."
    assert [(e.question, e.answer) for e in exchanges] == [("Which?", "That."), ("Where?", None)]


@pytest.mark.parametrize(
    "text", ["Open the cabinet.", "Put the cup in the cabinet, leave it open."]
)
def test_leaves_open_what_shall_be_open(toy_world: Make, text: str) -> None:
    world = toy_world()
    assert follow(world, text).done
    assert world.open == {"cabinet_0"}


def test_closes_what_it_had_to_open(toy_world: Make) -> None:
    world = toy_world("spoon_0")
    outcome = follow(
        world, "Put the spoon on the kitchen table. Make sure that the chest of drawers is closed."
    )
    assert outcome.done
    assert world.things["spoon_0"] == (ON, "table_0")
    assert not world.open & {"chest_of_drawers_0"}


def test_a_table_cannot_be_opened(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Open the couch.")
    assert outcome.calls == []
    assert outcome.decisions[-1].end is InstructionCode.BAD_REQUEST


def test_stands_at_what_it_found(toy_world: Make) -> None:
    world = toy_world("spoon_0")
    outcome = follow(world, "Find the spoon.")
    assert outcome.done
    assert world.near["agent_0"] == "spoon_0"
    assert "chest_of_drawers_0" in end(outcome)


def test_says_at_the_start_what_cannot_be_done(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Put the cup on the couch and the apple behind the couch.")
    begun = next(decision for decision in outcome.decisions if decision.calls)
    assert begun.thought.startswith("cannot be done: put the apple behind the couch (")
    assert outcome.world.things["cup_0"] == (ON, "couch_0")


def test_what_nobody_can_open_is_not_looked_for(toy_world: Make) -> None:
    outcome = follow(toy_world(), "Open the laptop.")
    assert {call for _, call in outcome.calls} <= {"Wait[]"}
    assert outcome.decisions[-1].end is InstructionCode.BAD_REQUEST


def test_does_not_look_into_what_must_not_be_opened(toy_world: Make) -> None:
    world = toy_world("spoon_0")
    outcome = follow(world, "Put the spoon on the couch. Never open the chest of drawers.")
    assert "There is no spoon" in end(outcome) or "not found: the spoon" in end(outcome)
    assert not any(call.startswith("Open[chest_of_drawers_0") for _, call in outcome.calls)
    assert any(call.startswith("Open[cabinet_0") for _, call in outcome.calls)


def test_what_comes_later_waits_for_what_has_yet_to_be_found(toy_world: Make) -> None:
    """The lamp is needed before and after; that it is unknown holds up both."""
    world = toy_world("lamp_0", things=THINGS)
    text = "Turn on the lamp, then put the apple on the couch, then turn the lamp off."
    outcome = follow(world, text)
    assert outcome.done
    acts = [call for _, call in outcome.calls if call.startswith(("Power", "Place[apple"))]
    assert [call.partition("[")[0] for call in acts] == ["PowerOn", "Place", "PowerOff"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Tell me how many cups there are on the couch.", "All cups on the couch: 2 (cup_0 at"),
        ("Tell me how many cups there are in the sink.", "All cups in the sink: 0."),
        (
            "Tell me what is the biggest object on the couch.",
            "The biggest thing on the couch: book_0",
        ),
        ("Tell me what is the heaviest cup on the couch.", "Nothing measures which one is the"),
        ("Tell me how many cups there are on the bed.", "There is no bed"),
    ],
)
def test_what_is_asked_of_a_place_is_told_after_a_look_there(
    toy_world: Make, text: str, says: str
) -> None:
    """What nobody has seen yet is counted, too; nothing is moved."""
    things = dict.fromkeys(("cup_0", "cup_1", "book_0"), (ON, "couch_0"))
    world = toy_world("cup_1", "book_0", things=things)
    outcome = follow(world, text)
    assert says in end(outcome)
    verbs = {call.partition("[")[0] for _, call in outcome.calls}
    assert verbs <= {"Navigate", "ExploreFurniture", "Done"}
    assert outcome.done is not ("Nothing" in says or "no bed" in says)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Where is the apple?", "apple_0"),
        ("Tell me how many apples there are", "1 thing"),
        ("Have you seen my umbrella?", "I have not seen any umbrella"),
        ("Is there a hippopotamus?", "I have not seen any hippopotamus"),
    ],
)
def test_a_question_is_answered_from_what_is_remembered(
    toy_world: Make, text: str, says: str
) -> None:
    """As `planner memory query` does, of which the planner calls the same function."""
    world = toy_world()
    outcome = follow(world, text)
    assert outcome.done
    assert {call for _, call in outcome.calls} == {"Done[]"}
    assert says in outcome.decisions[-1].thought
    told = ask(Believed(world.belief(), world.house.layout), text).text
    assert outcome.decisions[-1].thought == " ".join(told.splitlines())
