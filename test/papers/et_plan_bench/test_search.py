"""The search (ETPLAN-2.3): rooms, looks round, furniture, relations."""

from __future__ import annotations

from et_toys import Told, Toy, play

from papers.et_plan_bench.agent import AgentOptions
from papers.et_plan_bench.parts import Prior
from planner.world.episode import Criteria


def flat() -> Toy:
    """Living room, kitchen, bedroom; nothing but tables."""
    return Toy("livingroom", "kitchen", "bedroom")


def criteria(relation: str, names: tuple[str, ...], other: tuple[str, ...]) -> Criteria:
    return Criteria.model_validate(
        {
            "variables": {"a": names, "b": other},
            "success": [("CLOSE", "robot", "a"), (relation, "a", "b")],
        }
    )


def test_check_17_a_target_in_view_of_the_first_room_takes_two_walks() -> None:
    """ETPLAN-C17."""
    toy = flat()
    apple = toy.thing("apple", "ON", toy.piece("table", "kitchen_2", (2.0, 0.0)))
    played = play(toy, "Find an apple.", Told(rooms=["kitchen_2"]))
    assert played.actions == ("Navigate[kitchen_2]", f"Navigate[{apple}]")


def test_check_12_no_large_object_leads_to_the_next_room() -> None:
    """ETPLAN-C12."""
    toy = flat()
    toy.piece("table", "kitchen_2", (2.0, 0.0))
    plum = toy.thing("plum", "ON", toy.piece("bed", "bedroom_3", (2.0, 0.0)))
    ranker = Told(rooms=["kitchen_2", "bedroom_3"])
    played = play(toy, "Find a plum.", ranker)
    assert played.actions == (
        "Navigate[kitchen_2]",
        "Navigate[bedroom_3]",
        f"Navigate[{plum}]",
    )
    assert [what for what, _ in ranker.asked] == ["rooms", "objects"]


def test_what_is_closed_is_opened_and_closed_again_if_that_was_no_use() -> None:
    toy = flat()
    empty = toy.piece("cabinet", "kitchen_2", (2.0, 0.0), closed=True)
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    apple = toy.thing("apple", "INSIDE", fridge)
    ranker = Told(rooms=["kitchen_2"], objects={"kitchen_2": ["cabinet", "fridge"]})
    played = play(toy, "Find an apple.", ranker)
    assert played.actions == (
        "Navigate[kitchen_2]",
        f"Navigate[{empty}]",
        f"Open[{empty}]",
        f"Close[{empty}]",
        f"Navigate[{fridge}]",
        f"Open[{fridge}]",
        f"Navigate[{apple}]",
    )
    # The fridge shows what is in it as soon as it is open.
    assert played.looks == 2


def test_a_search_that_finds_nothing_fails_in_words() -> None:
    played = play(flat(), "Find an apple.", Told())
    assert played.result.outcome.text == "apple was not found"
    assert played.result.outcome.code.name == "GAVE_UP"


def test_after_m_actions_the_task_has_failed() -> None:
    """ETPLAN-1.4: looking round is not an action."""
    played = play(flat(), "Find an apple.", Told(), AgentOptions(max_actions=1))
    assert len(played.actions) == 1
    assert played.result.outcome.text == "the limit of actions (1) is reached"


def test_check_23_a_relation_that_shows_from_the_thing_needs_no_furniture() -> None:
    """ETPLAN-C23: the cup comes into view beside the apple, out of sight from the middle."""
    toy = Toy("kitchen")
    apple = toy.thing("apple", "ON", toy.piece("table", "kitchen_1", (3.4, 3.4)))
    cup = toy.thing("cup", "ON", toy.piece("shelf", "kitchen_1", (3.4, 2.2)))
    goal = criteria("CLOSE", (apple,), (cup,))
    ranker = Told(objects={"kitchen_1": ["table"]})
    played = play(toy, "Find the apple close to the cup.", ranker, criteria=goal)
    assert played.result.verdict.success
    assert ("objects", ()) not in ranker.asked
    assert played.actions[-1] == f"Navigate[{apple}]"
    assert not any("table" in action for action in played.actions)


def test_check_24_what_the_thing_has_to_be_at_comes_before_other_furniture() -> None:
    """ETPLAN-C24: the fridge is in view, the apple in it is not."""
    toy = flat()
    toy.piece("cabinet", "kitchen_2", (2.0, 0.0), closed=True)
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    apple = toy.thing("apple", "INSIDE", fridge)
    ranker = Told(rooms=["kitchen_2"], objects={"kitchen_2": ["cabinet", "fridge"]})
    goal = criteria("INSIDE", (apple,), (fridge,))
    played = play(toy, "Find the apple in the fridge.", ranker, criteria=goal)
    assert played.actions == (
        "Navigate[kitchen_2]",
        f"Navigate[{fridge}]",
        f"Open[{fridge}]",
        f"Navigate[{apple}]",
    )
    assert played.result.verdict.success
    assert [what for what, _ in ranker.asked] == ["rooms"]


def test_check_25_another_apple_is_not_the_one_in_the_fridge() -> None:
    """ETPLAN-C25: it continues."""
    toy = flat()
    toy.thing("apple", "ON", toy.piece("table", "kitchen_2", (2.0, 0.0)))
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    apple = toy.thing("apple", "INSIDE", fridge)
    goal = criteria("INSIDE", (apple,), (fridge,))
    ranker = Told(rooms=["kitchen_2"])
    played = play(toy, "Find the apple in the fridge.", ranker, criteria=goal)
    assert played.actions[-1] == f"Navigate[{apple}]"
    assert played.result.verdict.success


def test_check_26_only_the_room_with_the_anchor_is_searched() -> None:
    """ETPLAN-C26: the layout says where the fridge is, whatever the ranker says."""
    toy = flat()
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    ranker = Told(rooms=["bedroom_3", "livingroom_1", "kitchen_2"])
    options = AgentOptions(prior=Prior.FP)
    played = play(toy, "Find the apple in the fridge.", ranker, options)
    assert played.actions[0] == "Navigate[kitchen_2]"
    assert played.result.outcome.text == "apple inside fridge was not found"
    assert f"Open[{fridge}]" in played.actions
    assert not any("bedroom" in action for action in played.actions)


def test_without_prior_knowledge_furniture_that_was_not_seen_is_unknown() -> None:
    """ETPLAN-1.2."""
    toy = flat()
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    ranker = Told(rooms=["livingroom_1", "kitchen_2"])
    seen = play(toy, "Go to the fridge.", ranker)
    assert seen.actions == ("Navigate[kitchen_2]", f"Navigate[{fridge}]")
    assert seen.looks == 1
    told = play(toy, "Go to the fridge.", Told(), AgentOptions(prior=Prior.FP))
    assert told.actions == (f"Navigate[{fridge}]",)


def test_check_38_prior_knowledge_has_furniture_and_no_things() -> None:
    """ETPLAN-C38: the far cabinet is offered although nobody saw it, the apple in it is not."""
    toy = Toy("livingroom", "kitchen")
    far = toy.piece("cabinet", "kitchen_2", (2.0, 0.0), closed=True)
    apple = toy.thing("apple", "INSIDE", far)
    toy.thing("plum", "ON", toy.piece("table", "kitchen_2", (-2.0, 1.0)))
    ranker = Told(rooms=["kitchen_2"], objects={"kitchen_2": ["cabinet"]})
    played = play(toy, "Find an apple.", ranker, AgentOptions(prior=Prior.FP))
    offered = dict(ranker.asked)["objects"]
    assert "cabinet" in offered
    assert "apple" not in offered
    assert played.actions[-1] == f"Navigate[{apple}]"

    first = Told(rooms=["kitchen_2"])
    play(toy, "Find a plum.", first, AgentOptions(prior=Prior.FP))
    assert first.asked[0] == ("rooms", ("plum",))


def test_check_39_who_knows_everything_explores_nothing() -> None:
    """ETPLAN-C39: the actions are those of the true plan."""
    toy = flat()
    fridge = toy.piece("fridge", "kitchen_2", (-2.0, 0.0), closed=True)
    apple = toy.thing("apple", "INSIDE", fridge)
    options = AgentOptions(prior=Prior.G)
    played = play(toy, "Find an apple.", Told(), options, all_known=True)
    assert played.actions == (
        "Navigate[kitchen_2]",
        f"Navigate[{fridge}]",
        f"Open[{fridge}]",
        f"Navigate[{apple}]",
    )
    assert played.looks == 0


def test_who_claims_to_know_everything_does_not_search() -> None:
    toy = flat()
    toy.thing("apple", "ON", toy.piece("table", "kitchen_2", (2.0, 0.0)))
    ranker = Told()
    played = play(toy, "Find an apple.", ranker, AgentOptions(prior=Prior.G))
    assert (played.actions, ranker.asked) == ((), [])
    assert played.result.outcome.text == "apple was not found"


def test_after_all_rooms_what_is_still_closed_is_opened() -> None:
    """Another round until the actions are used up (ETPLAN-1.4)."""
    toy = flat()
    closed = toy.piece("cabinet", "kitchen_2", (2.0, 0.0), closed=True)
    toy.piece("table", "kitchen_2", (-2.0, 0.0))
    plum = toy.thing("plum", "INSIDE", closed)
    ranker = Told(rooms=["kitchen_2", "bedroom_3"])
    played = play(toy, "Find a plum.", ranker)
    assert played.actions == (
        "Navigate[kitchen_2]",
        "Navigate[bedroom_3]",
        "Navigate[livingroom_1]",
        f"Navigate[{closed}]",
        f"Open[{closed}]",
        f"Navigate[{plum}]",
    )
