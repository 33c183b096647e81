"""The wording of `react` for small models."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from itertools import pairwise

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
)
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Task
from planner.planning.planner_model import Repeats
from planner.planning.short_dialogue import SHORT_SYSTEM, ShortDialogue
from planner.training.traces.record import Provenance, TraceRecorder, messages_of
from planner.world.errors import PlannerError
from planner.world.skill import SkillCall, SkillCode, SkillResult
from planner.world.vocabulary import AgentKind, EntityKind


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


def test_the_short_wording_calls_things_by_class_and_number_behind_words_of_the_task() -> None:
    dialogue = ShortDialogue("Put the candle on a worktop in the kitchen.", LINES)
    assert dialogue.opening(("Navigate", "Done"), may_ask=True).splitlines() == [
        "living_room_0: tv_stand_100",
        "kitchen_0: counter_101, counter_102, chest_of_drawers_103 closed",
        "Actions: Navigate, Done, Ask",
        "Task: Put the candle on a worktop in the kitchen.",
        "candle: not seen",
        "worktop: counter_101 in kitchen_0, counter_102 in kitchen_0",
    ]
    seen = [
        "Add Object.149: candle with the Object.104",
        "Update Object.103: chest of drawers open",
    ]
    assert dialogue.result("Successful execution! It burns.", seen).splitlines() == [
        "Ok. It burns.",
        "candle: candle_149 at bowl_104 in kitchen_0",
        "chest_of_drawers_103 open",
    ]
    said = dialogue.call("Place[Object.149, on, Object.101, next_to, Object.104]")
    assert said == "Place[candle_149, on, counter_101, next_to, bowl_104]"


@pytest.mark.parametrize(
    ("cups", "seen"), [("the cup", 1), ("a cup", 1), ("the cups", 2), ("three cups", 3)]
)
def test_what_the_task_names_is_seen_when_there_is_as_much_as_it_says(cups: str, seen: int) -> None:
    dialogue = ShortDialogue(f"Set {cups} on a counter.", LINES)
    assert "set: not seen" not in dialogue.opening(("Navigate",))
    for number in range(seen):
        assert not dialogue.is_all_seen
        new = f"Add Object.{150 + number}: cup with the Object.101"
        dialogue.result("Successful execution!", [new])
    assert dialogue.is_all_seen


def test_things_that_no_noun_of_the_task_may_mean_are_left_alone() -> None:
    words = Words(("bowl_104", "candle_149"), ("counter_101",), (), ("bowl_104",))
    seen = ["Add Object.149: candle with the Object.101"]

    def usable(task: str) -> Words:
        dialogue = ShortDialogue(task, LINES)
        dialogue.result("Successful execution!", seen)
        return dialogue.usable(words)

    assert usable("Put the candle on a counter.") == Words(("candle_149",), ("counter_101",), ())
    assert usable("Put the candle in the bowl.") == words
    assert usable("Clear the counter.") == words


PICKED, PUT = (f"Successful execution! {words}." for words in ("It is held", "Now it is not"))


def test_the_short_wording_tells_where_to_when_something_was_picked_up() -> None:
    task = "Guests come. Fill the cup. Then put it on a worktop. Put the candles on the tv stand."
    dialogue = ShortDialogue(task, [*LINES, "Object.105: sink in kitchen_0"])
    cup, candle = "cup with the Object.104", "candle with the Object.101"
    seen = [f"Add Object.149: {candle}", f"Add Object.150: {candle}", f"Add Object.151: {cup}"]
    dialogue.result("Successful execution!", seen)
    assert dialogue.result(PICKED, ["Update Object.151 (picked): cup"]).splitlines()[1:] == [
        "cup: cup_151 in hand",
        "Task: Fill the cup. Then put it on a worktop.",
        "worktop: counter_101 in kitchen_0, counter_102 in kitchen_0",
        "faucet: sink_105 in kitchen_0",
    ]
    dialogue.result("Successful execution!", ["Update Object.151 (picked): cup filled"])
    put = [
        "Update Object.151: cup filled with the Object.102",
        "Remove Object.104",
        "something else",
    ]
    assert dialogue.result(PUT, put).splitlines()[1:] == [
        "cup: cup_151 filled at counter_102 in kitchen_0",
        "something else",
        "Left: Put the candles on the tv stand.",
        "candles: candle_149 at counter_101 in kitchen_0, candle_150 at counter_101 in kitchen_0",
    ]
    both = [f"Update Object.{number} (picked): candle" for number in (149, 150)]
    assert dialogue.result(PICKED, both).splitlines()[3:] == [
        "Task: Put the candles on the tv stand.",
        "tv stand: tv_stand_100 in living_room_0",
    ]
    first, second = (f"Update Object.{n}: candle with the Object.100" for n in (149, 150))
    # The other one still has to go there.
    assert dialogue.result(PUT, [first]).splitlines()[2:] == [
        "Task: Put the candles on the tv stand.",
        "tv stand: tv_stand_100 in living_room_0",
    ]
    assert dialogue.result(PUT, [second]).splitlines()[2:] == ["Nothing left."]
    assert dialogue.result("Unexpected failure! - no.", ()) == "Unexpected failure! - no."


def test_the_short_wording_tells_what_a_changed_thing_is_for() -> None:
    dialogue = ShortDialogue("Clean the candle. Put the bowl away.", LINES)
    dirty, clean = (f"Update Object.149: candle{state}" for state in (" dirty", ""))
    dialogue.result("Successful execution!", [dirty.replace("Update", "Add")])
    assert dialogue.result("Successful execution!", [clean]).splitlines()[1:] == [
        "candle: candle_149",
        "Task: Clean the candle.",
    ]
    # Doors are opened only to look.
    assert dialogue.result(
        "Successful execution!", ["Update Object.103: chest of drawers open"]
    ) == ("Ok.\nchest_of_drawers_103 open")


def test_the_short_wording_brings_what_is_held_where_the_task_says() -> None:
    dialogue = ShortDialogue("Put the candle on a worktop. Move the cup.", LINES)
    add = ["Add Object.149: candle with the Object.104", "Add Object.151: cup with the Object.101"]
    dialogue.result("Successful execution!", add)
    words = Words(("candle_149", "cup_151"), ("counter_101", "counter_102", "tv_stand_100"), ())
    # All was seen, and nothing is held: where its things are.
    assert dialogue.usable(words) == replace(words, furniture=("counter_101",))
    dialogue.result(PICKED, ["Update Object.149 (picked): candle"])
    assert dialogue.usable(words) == replace(words, furniture=("counter_101", "counter_102"))
    pick = SkillCall("Pick", ("candle_149",))
    assert pick not in [*dialogue.needless()]
    dialogue.result(PUT, ["Update Object.149: candle with the Object.102"])
    assert pick in [*dialogue.needless()]
    # Where the words name no furniture, all of it.
    dialogue.result(PICKED, ["Update Object.151 (picked): cup"])
    assert dialogue.usable(words) == words


ROOMS = [
    "Object.100: desk in bedroom_0",
    "Object.101: table in kitchen_0",
    "Object.102: table in living_room_0",
    "Object.103: chest of drawers in living_room_0",
    "Object.104: sink in bathroom_0",
]


@pytest.mark.parametrize(
    ("task", "offered"),
    [
        ("Put the candle on a table in the kitchen.", ("table_101",)),
        ("Put the candle on the kitchen table.", ("table_101",)),
        ("Take the candle to the bathroom.", ("sink_104",)),
        ("Clean the candle, and carry it to one of the bathrooms.", ("sink_104",)),
        ("Take the candle from the table in the kitchen to the desk.", ("desk_100",)),
        ("Clean the cup on the dresser, and put the candle onto the desk.", ("desk_100",)),
        ("The candle goes on a table and the cup in the sink.", ("table_101", "table_102")),
        ("Put the candle next to the cup on the desk.", ("desk_100",)),
        # None is known: any that the sentence names.
        ("Put the candle on a table in the garage.", ("table_101", "table_102")),
    ],
)
def test_what_is_held_goes_where_is_said_behind_it(task: str, offered: tuple[str, ...]) -> None:
    dialogue = ShortDialogue(task, ROOMS)
    dialogue.result(PICKED, ["Add Object.149 (picked): candle"])
    words = Words(("candle_149",), tuple(sorted(line_name(line) for line in ROOMS)), ())
    assert dialogue.usable(words).furniture == offered


def line_name(line: str) -> str:
    """`table_101` of `Object.101: table in kitchen_0`."""
    number, _, name = line.partition(" in ")[0].removeprefix("Object.").partition(": ")
    return f"{name.replace(' ', '_')}_{number}"


def test_what_is_to_be_filled_is_brought_to_a_faucet_first() -> None:
    lines = [*LINES, "Object.105: sink in kitchen_0"]
    dialogue = ShortDialogue("Fill the cup. Then put it on a worktop.", lines)
    words = Words(("cup_151",), ("counter_101", "counter_102", "sink_105", "tv_stand_100"), ())
    dialogue.result(PICKED, ["Add Object.151 (picked): cup"])
    assert dialogue.usable(words).furniture == ("sink_105",)
    assert SkillCall("Done") in [*dialogue.needless()]
    dialogue.result("Successful execution!", ["Update Object.151 (picked): cup filled"])
    assert dialogue.usable(words).furniture == ("counter_101", "counter_102")
    dialogue.result(PUT, ["Update Object.151: cup filled with the Object.105"])
    assert SkillCall("Done") in [*dialogue.needless()]
    dialogue.result(PICKED, ["Update Object.151 (picked): cup filled"])
    dialogue.result(PUT, ["Update Object.151: cup filled with the Object.101"])
    assert SkillCall("Done") not in [*dialogue.needless()]


@pytest.mark.parametrize(
    ("task", "ways"),
    [
        ("Put the candle in the drawers.", ("within",)),
        ("Get the candle from the counter and put it into one of the drawers.", ("within",)),
        ("Put the candle on the tv stand.", ("on", "within")),
        ("Put the candle in the drawers or on the tv stand.", ("on", "within")),
    ],
)
def test_what_the_task_puts_inside_is_put_inside(task: str, ways: tuple[str, ...]) -> None:
    dialogue = ShortDialogue(task, LINES)
    dialogue.result(PICKED, ["Add Object.149 (picked): candle"])
    assert dialogue.relations() == ways
    words = Words(("candle_149",), ("counter_101",), ())
    able = Ability(("Place",), held=words.objects, relations=dialogue.relations())
    grammar = turn_grammar(words, {"a": able}, TurnForm.CALL)
    for way in ("on", "within"):
        said = f"Place[candle_149, {way}, counter_101, None, None]"
        assert grammar.allows("a", said) is (way in ways)


def test_what_two_parts_of_the_task_name_may_be_moved_twice() -> None:
    dialogue = ShortDialogue("Put the candle on a worktop. Then put the candle away.", LINES)
    dialogue.result(PICKED, ["Add Object.149 (picked): candle"])
    dialogue.result(PUT, ["Update Object.149: candle with the Object.102"])
    assert SkillCall("Pick", ("candle_149",)) not in [*dialogue.needless()]


def test_nothing_is_changed_unless_it_is_said_and_nothing_switched_back() -> None:
    dialogue = ShortDialogue("Cook the potato, and switch the radio on.", LINES)
    add = ["Add Object.149: potato with the Object.101", "Add Object.150: radio"]
    dialogue.result("Successful execution!", add)
    off = SkillCall("PowerOff", ("radio_150",))
    assert off not in [*dialogue.needless()]
    # That a thing is on when it is seen first is nobody's doing.
    dialogue.result("Successful execution!", ["Update Object.100: tv stand powered on"])
    assert SkillCall("PowerOff", ("tv_stand_100",)) not in [*dialogue.needless()]
    dialogue.result("Successful execution!", ["Update Object.150: radio powered on"])
    needless = [*dialogue.needless()]
    assert off in needless
    assert SkillCall("Boil", ("potato_149",)) in needless
    assert SkillCall("Cook", ("potato_149",)) not in needless
    assert SkillCall("Clean", ("counter_101",)) in needless


@pytest.mark.parametrize(
    ("task", "is_left"),
    [
        ("Put the candle on a worktop. Move the cup.", True),
        ("Put the candle on a worktop next to the cup.", False),
        ("Put the candle on a worktop. Move the plate.", False),
    ],
)
def test_nothing_ends_while_something_that_is_known_was_not_handled(
    task: str, is_left: bool
) -> None:
    dialogue, done = ShortDialogue(task, LINES), SkillCall("Done")
    add = ["Add Object.149 (picked): candle", "Add Object.151: cup with the Object.101"]
    dialogue.result(PICKED, add)
    assert done in [*dialogue.needless()]
    dialogue.result(PUT, ["Update Object.149: candle with the Object.102"])
    assert (done in [*dialogue.needless()]) is is_left


@pytest.mark.parametrize("thing", ["toaster", "watering can", "coffee pot", "scrub brush"])
def test_a_word_within_a_things_name_asks_for_nothing(thing: str) -> None:
    dialogue = ShortDialogue(f"Put the {thing} on counters in the kitchen.", LINES)
    dialogue.result(PICKED, [f"Add Object.149 (picked): {thing}"])
    placed = [f"Update Object.149: {thing} with the Object.102"]
    assert dialogue.result(PUT, placed).splitlines()[-1] == "Nothing left."
    needless = [*dialogue.needless()]
    assert SkillCall("Done") not in needless
    changes = ("Toast", "Water", "Brew", "Clean", "PowerOn")
    assert all(SkillCall(name, ("bowl_104",)) in needless for name in changes)


@pytest.mark.parametrize(("task", "is_asked"), [("Close the drawers.", True), ("Tidy.", False)])
def test_doors_are_closed_where_the_task_says_so(task: str, is_asked: bool) -> None:
    close = SkillCall("Close", ("chest_of_drawers_103",))
    assert (close in [*ShortDialogue(task, LINES).needless()]) is not is_asked


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
    assert some.allows("a", "Pick[Object.150]")
    assert not some.allows("a", "Place[Object.150, on, Object.101, None, None]")
    full = turn_grammar(words, {"a": Ability(verbs, held=cup, full=True)}, TurnForm.CALL)
    assert not full.allows("a", "Pick[Object.150]")
    far = turn_grammar(words, {"a": Ability(verbs, held=cup, near=("Object.150",))}, TurnForm.CALL)
    assert far.allows("a", "Pick[Object.150]")
    assert not far.allows("a", "Pick[Object.149]")
    assert not far.allows("a", "Place[Object.149, on, Object.101, None, None]")
    none = turn_grammar(words, {"a": Ability(verbs, held=())}, TurnForm.CALL)
    assert not none.allows("a", "Place[Object.149, on, Object.101, None, None]")
    failed = SkillResult.failure(SkillCode.TOO_FAR, "far")
    repeats.take(SkillCall("Place", (*cup, "on", "Object.101", None, None)), failed)
    assert repeats.held == cup
    # Another thing may be put there, and this one as well once the agent has gone there.
    assert not repeats.blocked
    shut = SkillCall("Open", ("Object.101",))
    repeats.take(shut, failed)
    assert repeats.blocked == (shut,)
    repeats.take(SkillCall("Navigate", ("Object.102",)), failed)
    assert shut not in repeats.blocked


def test_the_short_wording_goes_nowhere_twice_with_nothing_done_between() -> None:
    repeats = Repeats(strict=True)
    walks = [SkillCall("Navigate", (word,)) for word in ("bed_101", "bed_102", "bed_101")]
    for walk in walks[:2]:
        repeats.take(walk, SkillResult.success())
    assert walks[2] in repeats.blocked
    refused = SkillResult.failure(SkillCode.TOO_FAR, "far")
    repeats.take(SkillCall("Open", ("bed_102",)), refused)
    assert walks[2] in repeats.blocked
    repeats.take(SkillCall("Pick", ("cup_149",)), SkillResult.success())
    assert walks[2] not in repeats.blocked


def test_the_short_wording_does_not_pick_up_next_what_was_just_put_down() -> None:
    repeats, again = Repeats(strict=True), SkillCall("Pick", ("cup_149",))
    repeats.take(again, SkillResult.success())
    repeats.take(
        SkillCall("Place", ("cup_149", "on", "bed_101", None, None)), SkillResult.success()
    )
    repeats.take(SkillCall("Navigate", ("bed_102",)), SkillResult.success())
    assert again in repeats.blocked
    repeats.take(SkillCall("Pick", ("cup_150",)), SkillResult.success())
    assert again not in repeats.blocked


def test_the_short_wording_offers_no_change_that_cannot_be_or_is_so(toy_world: Make) -> None:
    world = one_robot(toy_world)
    pieces = world.belief().of_kind(EntityKind.FURNITURE)
    table = next(node for node in pieces if node.class_name == "table")
    word = word_of(table, Naming.CLASSES)
    said = [f"Navigate[{word}]", f"PowerOff[{word}]", "Done[]", f"Clean[{word}]"]
    planner, model = short(world, *said, f"Clean[{word}]", "Done[]")
    able = {"agent_0": capabilities(AgentKind.HUMAN)}
    for clean, call in ((False, said[0]), (False, said[3]), (True, "Done[]")):
        world.states[table.name] = {"clean": clean}
        now = replace(context(world), capabilities=able)
        (meant,) = decide(planner, now).calls.values()
        assert str(meant) == call
        planner.observe((AgentResult("agent_0", meant, SkillResult.success(), 1.0),))
    for place, call in ((2, said[1]), (3, said[2]), (5, said[3])):
        assert f"{call} is not possible now" in model.asked[place][-1].text


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


def test_the_short_wording_offers_what_is_within_reach(toy_world: Make) -> None:
    world = one_robot(toy_world)
    things = world.belief().of_kind(EntityKind.OBJECT)
    thing = next(node for node in things if node.parent in world.belief().nodes)
    word = f"{thing.class_name}_{thing.entity_id}"
    planner, model = short(world, f"Pick[{word}]", f"Navigate[{word}]", f"Pick[{word}]")
    (went,) = decide(planner, context(world)).calls.values()
    assert str(went) == f"Navigate[{word}]"
    assert f"Pick[{word}] is not possible now" in model.asked[1][-1].text
    planner.observe((AgentResult("agent_0", went, SkillResult.success(), 1.0),))
    assert str(decide(planner, context(world)).calls["agent_0"]) == f"Pick[{word}]"


def test_the_short_wording_offers_no_end_before_all_was_seen_or_looked_for(toy_world: Make) -> None:
    world = one_robot(toy_world)
    nodes = world.belief().of_kind(EntityKind.FURNITURE)
    pieces = [word for node in nodes if (word := word_of(node, Naming.CLASSES))]
    world.states = {node.name: {"clean": False} for node in nodes}
    looks = [f"ExploreFurniture[{word}]" for word in pieces]
    said = [f"Navigate[{pieces[0]}]", f"Clean[{pieces[0]}]", "Done[]", *looks, "Done[]"]
    model = ScriptedModel(said)
    task = Task("Clean up and put the hammer away.", tuple(world.agents))
    planner = make_react(task, model, wording=Wording.SHORT)
    able = {"agent_0": capabilities(AgentKind.HUMAN)}
    now = replace(context(world), task=task, capabilities=able)
    calls = []
    for _ in said[1:]:
        (call,) = decide(planner, now).calls.values()
        calls.append(str(call))
        planner.observe((AgentResult("agent_0", call, SkillResult.success(), 1.0),))
    assert calls == [*said[:2], *looks, "Done[]"]


def test_the_short_wording_offers_no_end_with_something_in_the_hand(toy_world: Make) -> None:
    world = one_robot(toy_world)
    things = world.belief().of_kind(EntityKind.OBJECT)
    thing = next(node for node in things if node.parent in world.belief().nodes)
    word, place = (
        word_of(world.belief().nodes[name], Naming.CLASSES)
        for name in (thing.name, thing.parent or "")
    )
    said = [
        f"Navigate[{word}]",
        f"Pick[{word}]",
        "Done[]",
        f"Navigate[{word}]",
        f"Navigate[{place}]",
    ]
    planner, model = short(world, *said)
    for _ in range(2):
        (call,) = decide(planner, context(world)).calls.values()
        planner.observe((AgentResult("agent_0", call, SkillResult.success(), 1.0),))
    assert str(decide(planner, context(world)).calls["agent_0"]) == f"Navigate[{place}]"
    refused = [turn[-1].text for turn in model.asked[3:]]
    assert ["is not possible now" in text for text in refused] == [True, True]
