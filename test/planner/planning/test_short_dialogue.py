"""The wording of `react` for small models."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from planning_toys import ToyWorld, capabilities
from react_toys import DELTAS, Make, context, decide, one_robot

from planner.models.chat import transcript
from planner.models.replies.turn import Ability, Naming, TurnForm, Words, turn_grammar, word_of
from planner.models.teacher import ScriptedModel
from planner.planning.dialogues import AgentDialogues, make_react
from planner.planning.numbered_dialogue import (
    SYSTEM,
    Wording,
    vain_calls,
)
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Task
from planner.planning.planner_model import Moment, Repeats
from planner.planning.short_dialogue import SHORT_SYSTEM, ShortDialogue, errands_of
from planner.training.traces.record import Provenance, TraceRecorder, messages_of
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import AgentKind, EntityKind, Relation


def short(world: ToyWorld, *replies: str) -> tuple[AgentDialogues, ScriptedModel]:
    model = ScriptedModel(replies)
    task = Task("Tidy the kitchen.", tuple(world.agents))
    return make_react(task, model, wording=Wording.SHORT), model


LINES = [
    "Object.100: tv stand in living_room_0",
    "Object.101: counter in kitchen_0",
    "Object.102: counter in kitchen_0",
    "Object.103: chest of drawers closed in kitchen_0",
    "Object.104: bowl with the Object.101 in kitchen_0",
]


def told(dialogue: ShortDialogue, *deltas: str) -> list[str]:
    """The lines of the turn after a call that succeeded, behind its `Ok.`."""
    return dialogue.result("Successful execution!", deltas).splitlines()[1:]


def offered(
    dialogue: ShortDialogue,
    at: str = "",
    held: Iterable[str] = (),
    shut: Iterable[str] = (),
    explored: Iterable[str] = (),
    cramped: Iterable[tuple[str, str]] = (),
) -> set[str]:
    """What an agent's grammar offers: calls with one entity, and where it may put things."""
    known = frozenset(held), frozenset(shut), frozenset(explored)
    now = Moment(at, *known, cramped=frozenset(cramped))
    needless = {
        (call.name, call.arguments[-1]) for call in dialogue.needless(now) if call.arguments
    }
    known = [node.split(" ")[0] for node in NAMES]
    words = dialogue.usable(Words(tuple(known), (), ()))
    verbs = ("Navigate", "ExploreFurniture", "Pick", "Open", "Place", "Fill", "Clean", "PowerOff")
    return {f"{v} {w}" for w in words.objects for v in verbs if (v, w) not in needless}


NAMES = [
    *("tv_stand_100", "counter_101", "counter_102", "chest_of_drawers_103", "sink_105"),
    *("cup_149", "cup_150", "radio_151", "lamp_152"),
]
HOUSE = [*LINES, "Object.105: sink in bathroom_0"]
DONE_WELL = SkillResult.success()
COUNTER, SINK = "cup with the Object.101", "cup with the Object.105"
FULL = "cup_{} filled with water at {} in {}"


def test_the_short_wording_tells_what_is_to_be_done_with_what() -> None:
    dialogue = ShortDialogue("Put the candle on a worktop in the kitchen.", LINES)
    assert dialogue.opening(("Navigate", "Done"), may_ask=True).splitlines() == [
        "living_room_0: tv_stand_100",
        "kitchen_0: counter_101, counter_102, chest_of_drawers_103 closed",
        "Actions: Navigate, Done, Ask",
        "Task: Put the candle on a worktop in the kitchen.",
        "put candle on worktop in kitchen: not seen",
    ]
    seen = [
        "Add Object.149: candle with the Object.104",
        "Update Object.103: chest of drawers open",
    ]
    assert dialogue.result("Successful execution! It burns.", seen).splitlines() == [
        "Ok. It burns.",
        "chest_of_drawers_103 open",
        "put candle on worktop in kitchen: candle_149 at bowl_104 in kitchen_0",
    ]
    said = dialogue.call("Place[Object.149, on, Object.101, next_to, Object.104]")
    assert said == "Place[candle_149, on, counter_101, next_to, bowl_104]"


def test_only_the_step_that_is_to_be_done_now_is_told() -> None:
    task = "First fill the two cups on the worktop. Then put them in the drawers."
    dialogue = ShortDialogue(task, HOUSE)
    assert "drawers:" not in dialogue.opening(("Navigate",))
    cups = [f"cup_{number} at counter_101 in kitchen_0" for number in (149, 150)]
    assert told(dialogue, f"Add Object.149: {COUNTER}", f"Add Object.150: {COUNTER}") == [
        f"fill 2 cup at worktop: {', '.join(cups)}"
    ]
    assert told(dialogue, "Update Object.149 (picked): cup") == [
        "fill 2 cup at worktop: cup_149 in hand, sink_105 in bathroom_0"
    ]
    # It is for later: where it goes is not told yet.
    filled = "Update Object.149 (picked): cup filled with water"
    assert told(dialogue, filled) == ["cup_149 filled with water in hand"]
    assert offered(dialogue, "sink_105", held=["cup_149"]) == {"Place sink_105"}
    put = "Update Object.149: cup filled with water with the Object.105"
    assert told(dialogue, put) == ["fill 2 cup at worktop: cup_150 at counter_101 in kitchen_0"]
    # Of both, wherever they are now.
    assert told(dialogue, "Update Object.150: cup filled with water with the Object.101") == [
        f"put 2 cup within drawers: {FULL.format(149, 'sink_105', 'bathroom_0')}, "
        + FULL.format(150, "counter_101", "kitchen_0")
    ]
    assert told(dialogue, put.replace("105", "103")) != ["Nothing left."]
    assert told(dialogue, put.replace("149", "150").replace("105", "103")) == ["Nothing left."]


def test_what_the_speaker_does_is_left_to_them() -> None:
    task = "I will put the bowl on the tv stand, and you put the cup on a worktop."
    assert [str(errand) for errand in errands_of(task)] == ["put cup on worktop"]
    assert not errands_of("Tidy the frobnicator.")


@pytest.mark.parametrize(
    ("task", "errands"),
    [
        ("Turn off all the lamps in the kitchen.", ["power off all lamp at kitchen"]),
        ("Start by getting the mouse onto the table.", ["put mouse on table"]),
        ("Take the cup to the bathroom.", ["put cup in bathroom"]),
        (
            "Put the cup in the sink and wash the bowl on the shelf.",
            ["put cup within sink", "clean bowl at shelf"],
        ),
        ("Put the cup on the desk next to the bowl.", ["put cup on desk next to bowl"]),
        ("Put three toasters on the counter.", ["put 3 toaster on counter"]),
    ],
)
def test_a_task_is_read_into_what_shall_become_of_which_things(
    task: str, errands: list[str]
) -> None:
    assert [str(errand) for errand in errands_of(task)] == errands


def test_what_is_missing_is_looked_for_in_rooms_where_least_was_and_then_behind_doors() -> None:
    dialogue = ShortDialogue("Put the cup on the tv stand.", HOUSE)
    explore = "ExploreFurniture"
    drawers = ["chest_of_drawers_103"]
    pieces = ["tv_stand_100", "counter_101", "counter_102", "sink_105"]
    assert offered(dialogue, shut=drawers) == {f"{explore} {word}" for word in pieces}
    seen = ["counter_101", "tv_stand_100"]
    assert offered(dialogue, explored=seen, shut=drawers) == {f"{explore} sink_105"}
    assert offered(dialogue, explored=pieces, shut=drawers) == {"Navigate chest_of_drawers_103"}
    assert offered(dialogue, "chest_of_drawers_103", explored=pieces, shut=drawers) == {
        "Open chest_of_drawers_103"
    }
    # Nothing is left to look at.
    assert not offered(dialogue, explored=[*pieces, "chest_of_drawers_103"])
    assert SkillCall("Done") not in [*dialogue.needless(Moment(explored=frozenset(NAMES)))]


def test_what_is_known_is_handled_before_more_is_looked_for() -> None:
    dialogue = ShortDialogue("Put the cup on the tv stand, and turn off the radio.", HOUSE)
    told(dialogue, f"Add Object.149: {COUNTER}")
    assert offered(dialogue) == {"Navigate cup_149"}
    assert offered(dialogue, "cup_149") == offered(dialogue, "counter_101") == {"Pick cup_149"}
    assert SkillCall("Done") in [*dialogue.needless(Moment())]
    told(dialogue, "Add Object.151: radio powered on with the Object.102")
    assert offered(dialogue) == {"Navigate cup_149", "Navigate radio_151"}
    # What it has gone to comes first.
    assert offered(dialogue, "radio_151") == {"PowerOff radio_151"}
    told(dialogue, "Update Object.151: radio with the Object.102")
    assert offered(dialogue) == {"Navigate cup_149"}
    told(dialogue, "Update Object.149: cup with the Object.100")
    assert SkillCall("Done") not in [*dialogue.needless(Moment())]


def test_what_is_held_goes_where_the_task_says_and_doors_are_opened_first() -> None:
    dialogue = ShortDialogue("Put the cup in the drawers.", HOUSE)
    told(dialogue, "Add Object.149 (picked): cup")
    assert dialogue.relations() == ("within",)
    drawers, held = "chest_of_drawers_103", ["cup_149"]
    assert offered(dialogue, held=held, shut=[drawers]) == {f"Navigate {drawers}"}
    assert offered(dialogue, drawers, held=held, shut=[drawers]) == {f"Open {drawers}"}
    assert offered(dialogue, drawers, held) == {f"Place {drawers}"}
    # What another agent holds is nothing to put down.
    assert not {call for call in offered(dialogue) if call.startswith("Place")}


def test_what_is_to_be_filled_is_filled_at_a_faucet_before_it_is_put_down() -> None:
    dialogue = ShortDialogue("Fill the cup.", HOUSE)
    told(dialogue, f"Add Object.149: {COUNTER}")
    assert offered(dialogue, "cup_149") == {"Pick cup_149"}
    told(dialogue, "Update Object.149 (picked): cup")
    assert offered(dialogue, "cup_149", held=["cup_149"]) == {"Navigate sink_105"}
    assert offered(dialogue, "sink_105", held=["cup_149"]) == {"Fill cup_149"}


def test_what_has_no_room_somewhere_is_brought_elsewhere_that_is_meant() -> None:
    dialogue = ShortDialogue("Put the cups on a counter.", HOUSE)
    told(dialogue, f"Add Object.149: {SINK}", "Add Object.150 (picked): cup")
    full = ("cup_150", "counter_101")
    assert offered(dialogue, "counter_101", ["cup_150"], cramped=[full]) == {"Navigate counter_102"}
    # The other cup may be smaller; where there is room nowhere, it is put down and left.
    both = [full, ("cup_150", "counter_102")]
    assert "Place tv_stand_100" in offered(dialogue, "tv_stand_100", ["cup_150"], cramped=both)
    told(dialogue, "Update Object.150: cup with the Object.100")
    assert offered(dialogue, "tv_stand_100", cramped=both) == {"Navigate cup_149"}


def test_what_is_held_for_nothing_is_put_down_on_something_in_the_same_room() -> None:
    rest = ["Object.106: shower in bathroom_0", "Object.107: trash can in bathroom_0"]
    dialogue = ShortDialogue("Fill the cup.", [*HOUSE, *rest, "Object.108: floor lamp in office_0"])
    told(dialogue, f"Add Object.149: {COUNTER}", "Update Object.149 (picked): cup")
    told(dialogue, "Update Object.149 (picked): cup filled with water")
    held = ["cup_149"]
    assert dialogue.relations() == ("on",)
    assert "Place sink_105" in offered(dialogue, "sink_105", held)
    full = [("cup_149", "sink_105"), ("cup_149", "shower_106")]
    away = offered(dialogue, "sink_105", held, cramped=full)
    assert away == {
        f"Navigate {word}"
        for word in ("tv_stand_100", "counter_101", "counter_102", "chest_of_drawers_103")
    }


def test_what_goes_to_a_room_goes_on_something_and_not_where_there_is_no_furniture() -> None:
    bin_ = "Object.106: trash can in bathroom_0"
    dialogue = ShortDialogue(
        "Put the cup in the bathroom, and the radio in the hall.", [*HOUSE, bin_]
    )
    told(dialogue, "Add Object.149 (picked): cup", "Add Object.151: radio with the Object.102")
    assert offered(dialogue, "counter_101", ["cup_149"]) == {"Navigate sink_105"}
    told(dialogue, "Update Object.149: cup with the Object.105")
    # Nothing in the hall can take a radio: it stays, and nothing is looked for.
    assert not offered(dialogue, "sink_105")


def test_no_more_things_are_taken_than_are_asked_for() -> None:
    dialogue = ShortDialogue("Put a cup on the tv stand.", HOUSE)
    told(dialogue, f"Add Object.149: {COUNTER}", f"Add Object.150: {COUNTER}")
    assert offered(dialogue, "counter_101") == {"Pick cup_149", "Pick cup_150"}
    assert told(dialogue, "Update Object.149: cup with the Object.100") == ["Nothing left."]
    assert not offered(dialogue)


def test_what_goes_into_one_of_several_goes_where_the_first_thing_went() -> None:
    dialogue = ShortDialogue("Put the cups on a counter.", HOUSE)
    told(dialogue, f"Add Object.149: {SINK}", "Add Object.150 (picked): cup")
    assert offered(dialogue, held=["cup_150"]) == {"Navigate counter_101", "Navigate counter_102"}
    told(dialogue, "Update Object.150: cup with the Object.102")
    told(dialogue, "Update Object.149 (picked): cup")
    assert offered(dialogue, held=["cup_149"]) == {"Navigate counter_102"}


def test_furniture_is_changed_where_the_task_says() -> None:
    dialogue = ShortDialogue("Clean the counter in the kitchen. Then clean the sink.", HOUSE)
    assert offered(dialogue) == {"Navigate counter_101", "Navigate counter_102"}
    assert offered(dialogue, "counter_101") == {"Clean counter_101"}
    assert told(dialogue, "Update Object.101: counter dirty")[0] == "counter_101 dirty"
    told(dialogue, "Update Object.101: counter")
    assert offered(dialogue) == {"Navigate sink_105"}
    # That nothing else is told of it says that it is as usual.
    assert told(dialogue, "Update Object.105: sink")[-1] == "Nothing left."


def test_what_is_not_understood_is_told_as_it_is_and_all_is_offered() -> None:
    dialogue = ShortDialogue("Tidy the frobnicator.", LINES)
    assert told(dialogue, "Add Object.149: candle with the Object.104", "Remove Object.104") == [
        "candle_149 at bowl_104 in kitchen_0",
        "no bowl_104",
    ]
    assert told(dialogue, "something else") == ["something else"]
    words = Words(("candle_149",), ("counter_101",), ())
    assert dialogue.usable(words) == words
    assert not [*dialogue.needless(Moment())]
    assert dialogue.relations() == ("on", "within")
    assert dialogue.result("Unexpected failure! - no.", ()) == "Unexpected failure! - no."


def test_a_trace_is_told_in_the_short_wording_as_it_was_asked(toy_world: Make) -> None:
    """What a model learns from is what it is asked with."""
    world = one_robot(toy_world)
    pieces = [
        word_of(node, Naming.CLASSES)
        for node in world.belief().of_kind(EntityKind.FURNITURE)
        if node.entity_id is not None
    ]
    planner, model = short(world, *(f"Navigate[{word}]" for word in pieces[:3]))
    recorder = TraceRecorder(planner, ("agent_0",), lambda: 0.0)
    told: list[list[str]] = [[], DELTAS, []]
    for deltas in told:
        decision = asyncio.run(recorder.decide(context(world, deltas=deltas)))
        call = decision.calls["agent_0"]
        recorder.observe((AgentResult("agent_0", call, SkillResult.success(), 1.0),))
    provenance = Provenance(source="react", run="r", episode_id="e", house="h")
    (trace,) = recorder.traces(provenance, reward=True, percent_complete=1.0)
    assert tuple(messages_of(trace, Wording.SHORT))[:-1] == tuple(model.asked[-1])
    # What was read once stays as it was: a prompt is the one before it, its reply and a turn.
    assert all(now[: len(before)] == before for before, now in pairwise(model.asked))
    assert model.asked[-1][2].text == f"Navigate[{pieces[0]}]\nAssigned!"
    assert len(transcript(model.asked[0])) < 0.6 * len(transcript(messages_of(trace)[:2]))


def test_the_short_wording_offers_no_repetition_and_no_empty_hand() -> None:
    repeats = Repeats(strict=True)
    explore, cup = SkillCall("ExploreFurniture", ("Object.101",)), ("Object.149",)
    repeats.take(explore, SkillResult.success())
    repeats.take(SkillCall("Pick", cup), SkillResult.success())
    assert repeats.held == cup
    assert repeats.blocked == (explore, SkillCall("Pick", cup))
    repeats.take(SkillCall("Open", ("Object.101",)), SkillResult.success())
    assert explore not in repeats.blocked
    words = Words(("Object.149", "Object.150"), ("Object.101",), ())
    verbs = ("Pick", "Place")
    some = turn_grammar(words, {"a": Ability(verbs, held=cup)}, TurnForm.CALL)
    assert some.allows("a", "Place[Object.149, on, Object.101, None, None]")
    assert not some.allows("a", "Pick[Object.150]")
    assert not some.allows("a", "Place[Object.150, on, Object.101, None, None]")
    none = turn_grammar(words, {"a": Ability(verbs, held=())}, TurnForm.CALL)
    assert none.allows("a", "Pick[Object.150]")
    assert not none.allows("a", "Place[Object.149, on, Object.101, None, None]")
    failed = SkillResult.failure(SkillCode.TOO_FAR, "far")
    repeats.take(SkillCall("Place", (*cup, "on", "Object.101", None, None)), failed)
    assert repeats.held == cup
    # Another thing may be put there, and this one as well once the agent has gone there.
    assert [*repeats.blocked] == []
    shut = SkillCall("Open", ("Object.101",))
    repeats.take(shut, failed)
    assert repeats.blocked == (shut,)
    repeats.take(SkillCall("Navigate", ("Object.102",)), failed)
    assert shut not in repeats.blocked


def test_smollm2_gets_the_short_wording_unless_told_otherwise(toy_world: Make) -> None:
    world = one_robot(toy_world)

    class Small(ScriptedModel):
        name = "smollm2+react"  # type: ignore[assignment]

    def first(model: ScriptedModel, **options: str | bool) -> str:
        choice = PlannerChoice("react", options=options)
        planner = make_planner(choice, Task("Tidy.", tuple(world.agents)), model)
        asyncio.run(planner.decide(context(world)))
        return model.asked[0][0].text

    assert first(Small(["Navigate[Object.100]"])) == SHORT_SYSTEM
    assert first(Small(["Navigate[Object.100]"]), wording="paper") == SYSTEM
    assert first(ScriptedModel(["Navigate[Object.100]"])) == SYSTEM
    assert first(ScriptedModel(["Navigate[Object.100]"]), wording="short") == SHORT_SYSTEM
    with pytest.raises(PlannerError, match="no short wording with whole_list"):
        first(Small(["Navigate[Object.100]"]), whole_list=True)


def test_the_short_wording_offers_what_serves_a_task_that_is_understood(toy_world: Make) -> None:
    world = one_robot(toy_world)
    things = world.belief().of_kind(EntityKind.OBJECT)
    thing = next(node for node in things if node.parent in world.belief().nodes)
    word = word_of(thing, Naming.CLASSES)
    task = Task(f"Put the {thing.class_name} on the table.", tuple(world.agents))
    model = ScriptedModel(())
    planner, now = (
        make_react(task, model, wording=Wording.SHORT),
        replace(context(world), task=task),
    )
    for call in (f"Navigate[{word}]", f"Pick[{word}]"):
        decision = decide(planner, now)
        assert str(decision.calls["agent_0"]) == call
        planner.observe((AgentResult("agent_0", decision.calls["agent_0"], DONE_WELL, 1.0),))
    # It was not asked: nothing else could be said.
    assert (decision.evidence["without_choice"], model.asked) == ("2", [])


def test_the_short_wording_offers_no_end_before_something_was_done_or_all_was_looked_at(
    toy_world: Make,
) -> None:
    world = one_robot(toy_world)
    nodes = world.belief().of_kind(EntityKind.FURNITURE)
    pieces = [word for node in nodes if (word := word_of(node, Naming.CLASSES))]
    world.states = {node.name: {"clean": False} for node in nodes}
    looks = [f"ExploreFurniture[{word}]" for word in pieces]
    said = ["Done[]", *looks, "Done[]"]
    model = ScriptedModel(said)
    task = Task("Tidy the frobnicator.", tuple(world.agents))
    planner = make_react(task, model, wording=Wording.SHORT)
    able = {"agent_0": capabilities(AgentKind.HUMAN)}
    now = replace(context(world), task=task, capabilities=able)
    calls = []
    for _ in said[1:]:
        (call,) = decide(planner, now).calls.values()
        calls.append(str(call))
        planner.observe((AgentResult("agent_0", call, SkillResult.success(), 1.0),))
    assert calls == [*looks, "Done[]"]


def test_the_short_wording_offers_no_end_with_something_in_the_hand(toy_world: Make) -> None:
    world = one_robot(toy_world)
    things = world.belief().of_kind(EntityKind.OBJECT)
    word = word_of(next(iter(things)), Naming.CLASSES)
    planner, model = short(world, f"Pick[{word}]", "Done[]", f"Navigate[{word}]")
    (call,) = decide(planner, context(world)).calls.values()
    planner.observe((AgentResult("agent_0", call, SkillResult.success(), 1.0),))
    assert str(decide(planner, context(world)).calls["agent_0"]) == f"Navigate[{word}]"
    assert "Done[] is not possible now" in model.asked[2][-1].text


# What is possible, whatever it is good for.


def left_out(world: ToyWorld, moment: Moment, *verbs: str) -> set[str]:
    calls = vain_calls(world.belief(), verbs, Naming.NAMES, moment)
    return {f"{call.name} {call.arguments[-1] if call.arguments else ''}" for call in calls}


def test_only_what_cannot_succeed_or_changes_nothing_is_left_out(toy_world: Make) -> None:
    things = {
        "cup_0": (Relation.HELD, "agent_0"),
        "spoon_0": (Relation.WITHIN, "chest_of_drawers_0"),
        "lamp_0": (Relation.ON, "table_1"),
        "doll_0": (Relation.ON, "table_1"),
    }
    world = one_robot(toy_world)
    world.things = things
    world.states = {"lamp_0": {"powered_on": True}, "cup_0": {"clean": False}}
    now = Moment("table_1", frozenset({"cup_0"}))
    assert left_out(world, now, "Navigate") == {"Navigate table_1", "Navigate cup_0"}
    assert left_out(world, now, "Pick") == {"Pick cup_0", "Pick spoon_0"}
    left = left_out(world, now, "Open", "Close")
    assert {"Close chest_of_drawers_0", "Open table_1", "Close lamp_0"} <= left
    assert "Open chest_of_drawers_0" not in left
    world.open.add("chest_of_drawers_0")
    assert "Pick spoon_0" not in left_out(world, now, "Pick")
    left = left_out(world, now, "Open", "Close")
    assert "Open chest_of_drawers_0" in left
    assert "Close chest_of_drawers_0" not in left
    left = left_out(world, now, "PowerOn", "PowerOff", "Clean", "Fill", "Slice")
    assert {"PowerOn lamp_0", "PowerOff cup_0", "Clean spoon_0", "Slice lamp_0"} <= left
    # Of a class that has no states at all this is known as well.
    assert {"Fill doll_0", "Clean doll_0"} <= left
    assert not {"PowerOff lamp_0", "Clean cup_0", "Fill cup_0"} & left
    # Nothing is poured with empty hands, or put onto what is held.
    assert "Pour cup_0" in left_out(world, Moment(), "Pour")
    assert "Place cup_0" in left_out(world, now, "Place")
    assert "Place table_1" not in left_out(world, now, "Place")
    assert left_out(world, Moment(may_end=False)) == {"Done "}


@pytest.mark.parametrize("seed", range(8))
def test_what_is_left_out_fails_or_changes_nothing_wherever_a_walk_leads(
    toy_world: Make, seed: int
) -> None:
    draws = Random(seed)
    world = toy_world(agents={"agent_0": AgentKind.HUMAN})
    verbs, at = ("Navigate", "Pick", "Open", "Close"), ""
    seen: set[str] = set()
    # What has no door, this world opens as well.
    doors = {piece.name for piece in world.house.furniture if piece.joints}
    for _ in range(30):
        held = frozenset(t for t, (r, _) in world.things.items() if r is Relation.HELD)
        vain = set(vain_calls(world.belief(), verbs, Naming.NAMES, Moment(at, held)))
        for call in vain:
            # The house is the same for all.
            other = deepcopy(world, {id(world.house): world.house})
            result = other.carry_out("agent_0", call)
            after = (other.things, other.open & doors, other.position)
            before = (world.things, world.open & doors, world.position)
            assert not result.succeeded or after == before
        names = [node.name for node in world.belief().nodes.values() if node.entity_id]
        calls = [SkillCall(verb, (name,)) for verb in verbs for name in names]
        call = draws.choice([call for call in calls if call not in vain])
        if world.carry_out("agent_0", call).succeeded:
            seen.add(call.name)
            at = str(call.arguments[0]) if call.name == "Navigate" else at
    assert "Navigate" in seen


def test_where_all_that_is_possible_is_offered_the_model_is_asked_for_each_call(
    toy_world: Make,
) -> None:
    world = toy_world(agents={"agent_0": AgentKind.HUMAN})
    things = world.belief().of_kind(EntityKind.OBJECT)
    cup, apple, *_ = (word_of(node, Naming.CLASSES) for node in things)
    task = Task("Put the cup on the table.", tuple(world.agents))
    said = [f"Pick[{apple}]", f"Pick[{cup}]", "Done[]"]
    model = ScriptedModel(said)
    planner = make_react(task, model, wording=Wording.SHORT, serves=False)
    calls = []
    for _ in said:
        (call,) = decide(planner, replace(context(world), task=task)).calls.values()
        calls.append(str(call))
        planner.observe((AgentResult("agent_0", call, DONE_WELL, 1.0),))
    # What serves nothing, with both hands, and an end with something in them.
    assert (calls, len(model.asked)) == (said, 3)
    useful = make_react(task, ScriptedModel(said[2:]), wording=Wording.SHORT)
    assert str(decide(useful, replace(context(world), task=task)).calls["agent_0"]) != said[0]
    small = PlannerChoice("react", options={"offers": "possible"})
    with pytest.raises(PlannerError, match="in the short wording alone"):
        make_planner(small, task, ScriptedModel(said))
