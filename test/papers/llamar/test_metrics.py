"""What a run does of an episode's own checklist, and LLaMAR's metrics of it (LLAMAR-8)."""

from __future__ import annotations

import pytest

from papers.llamar import metrics as llamar
from planner.evaluation.subtasks import with_subtasks
from planner.evaluation.task import Predicate
from planner.evaluation.trace import HoldLine, TracedProposition
from planner.world.episode import Checklist
from planner.world.skill import SkillCode

FOODS = ("bread_0", "tomato_0", "lettuce_0")
# LLAMAR-C37: fourteen items.
ITEMS = (
    *(
        text
        for food in FOODS
        for text in (
            f"NavigateTo({food})",
            f"PickupObject({food})",
            f"NavigateTo(fridge_0, {food})",
            f"PutObject(fridge_0, {food})",
        )
    ),
    "OpenObject(fridge_0)",
    "CloseObject(fridge_0)",
)
FRIDGE = Checklist(
    ambiguity=1, subtasks=ITEMS, targets=(*((food,) for food in FOODS), ("fridge_0",))
)
IN_FRIDGE = tuple(
    TracedProposition(food, Predicate.IS_INSIDE, ((food,), ("fridge_0",))) for food in FOODS
)


def place(thing: str, where: str = "fridge_0") -> str:
    return f"Place[{thing}, within, {where}, None, None]"


@pytest.fixture
def run(make_trace, make_call):
    """A trace of calls, one a step, alternately of both agents unless they are named."""

    def make(*texts, satisfied=(False,) * 3, checklist=FRIDGE, propositions=IN_FRIDGE, holds=()):
        calls = [
            make_call(text if isinstance(text, str) else text[0], step, **more)
            for step, text in enumerate(texts, start=1)
            for more in ({} if isinstance(text, str) else text[1],)
        ]
        trace = make_trace(satisfied, propositions=propositions, calls=calls, holds=tuple(holds))
        return with_subtasks(trace, checklist)

    return make


def bob(text: str, code: SkillCode = SkillCode.SUCCESS):
    return text, {"agent": "agent_1", "code": code}


def done(trace) -> set[str]:
    return {trace.episode.reference.subtasks[line.index] for line in trace.subtasks}


def test_llamar_check_37_seven_of_fourteen_items(run) -> None:
    assert len(ITEMS) == 14
    half = run(
        "Open[fridge_0]", "Navigate[bread_0]", "Pick[bread_0]", place("bread_0"),
        "Navigate[tomato_0]", "Pick[tomato_0]", bob("Pick[lettuce_0]", SkillCode.TOO_FAR),
    )  # fmt: skip
    assert len(done(half)) == 7
    assert llamar.transport_rate(half).value == 0.5
    assert llamar.success(half).value == 0.0


def test_the_papers_own_skills_do_the_same(run) -> None:
    held = HoldLine(2, "agent_0", "bread_0")
    found = run(
        "NavigateTo[bread_0]", "PickupObject[bread_0]", bob("OpenObject[fridge_0]"),
        "NavigateTo[fridge_0]", "PutObject[bread_0, within, fridge_0, None, None]",
        bob("CloseObject[fridge_0]"), "Move[Ahead]", holds=[held],
    )  # fmt: skip
    assert done(found) == {*ITEMS[:4], *ITEMS[12:]}
    assert llamar.coverage(found).value == 0.5
    states = Checklist(
        ambiguity=1,
        subtasks=("SliceObject(a_0)", "CleanObject(a_0)", "ToggleObjectOn(a_0)",
                  "ToggleObjectOff(a_0)"),
        targets=(("a_0",),),
    )  # fmt: skip
    changed = run(*(f"{text.partition('(')[0]}[a_0]" for text in states.subtasks), checklist=states)
    assert done(changed) == set(states.subtasks)


def test_an_interaction_also_credits_the_way(run) -> None:
    assert done(run("Pick[bread_0]")) == {"NavigateTo(bread_0)", "PickupObject(bread_0)"}
    assert done(run("Rearrange[bread_0, within, fridge_0, None, None]")) == set(ITEMS[:4])


def test_the_way_to_the_fridge_counts_with_the_thing_in_hand(run) -> None:
    with_bread = HoldLine(1, "agent_0", "bread_0")
    assert "NavigateTo(fridge_0, bread_0)" in done(
        run("Pick[bread_0]", "Navigate[fridge_0]", holds=[with_bread])
    )
    laid_down = HoldLine(2, "agent_0", "")
    assert "NavigateTo(fridge_0, bread_0)" not in done(
        run("Pick[bread_0]", "Wait[]", "Navigate[fridge_0]", holds=[with_bread, laid_down])
    )
    # What the other one holds is not in this hand.
    assert not done(run(bob("Navigate[fridge_0]"), holds=[with_bread]))


def test_a_subtask_is_the_first_doers(run) -> None:
    found = run("Open[fridge_0]", bob("Open[fridge_0]"), bob("Close[fridge_0]"))
    assert [(line.agent, line.step) for line in found.subtasks] == [("agent_0", 1), ("agent_1", 3)]


def test_alternatives_are_one_subtask(run) -> None:
    any_lamp = Checklist(
        ambiguity=2, subtasks=("ToggleObjectOff(lamp_0|lamp_1)",), targets=(("lamp_0", "lamp_1"),)
    )
    on = (TracedProposition("off", "is_powered_off", (("lamp_0", "lamp_1"),)),)
    found = run("PowerOff[lamp_1]", satisfied=(True,), checklist=any_lamp, propositions=on)
    assert llamar.transport_rate(found).value == llamar.success(found).value == 1.0
    assert llamar.coverage(found).value == 1.0


def test_one_act_does_all_entries_that_are_the_same_and_each_counts(run) -> None:
    opens = ("OpenObject(fridge_0)",) * 3
    thrice = Checklist(ambiguity=3, subtasks=(*ITEMS[:4], *opens), targets=(("fridge_0",),))
    trace = run("Open[fridge_0]", checklist=thrice)
    assert [line.index for line in trace.subtasks] == [4, 5, 6]
    assert llamar.transport_rate(trace).value == pytest.approx(3 / 7)


def whole(*more: object):
    return (
        "Open[fridge_0]", *(text for food in FOODS for text in (f"Pick[{food}]", place(food))),
        bob("Close[fridge_0]"), *more,
    )  # fmt: skip


def test_success_needs_all_subtasks_and_the_goal_at_the_end(run) -> None:
    # LLAMAR-D42
    assert llamar.success(run(*whole(), satisfied=(True,) * 3)).value == 1.0
    undone = run(*whole("Open[fridge_0]", "Pick[bread_0]"), satisfied=(False, True, True))
    assert llamar.transport_rate(undone).value == 1.0
    assert llamar.success(undone).value == 0.0
    left_open = run(*whole()[:-1], satisfied=(True,) * 3)
    assert llamar.transport_rate(left_open).value == pytest.approx(13 / 14)
    assert llamar.success(left_open).value == 0.0


def test_llamar_check_34_an_irrelevant_cabinet_is_not_in_the_balance(run) -> None:
    found = run("Pick[bread_0]", bob("Open[cabinet_9]"))
    assert llamar.balance(found).value == 0.0
    assert llamar.balance_all(found).value == 1.0
    helped = run("Pick[bread_0]", bob("Open[fridge_0]"))
    assert llamar.balance(helped).value == pytest.approx(1 / 1.0001)


def test_balance_counts_actions_and_not_entries(run) -> None:
    # LLAMAR-D43: Rearrange did four entries, Open two.
    found = run("Rearrange[bread_0, within, fridge_0, None, None]", bob("Open[fridge_0]"))
    assert len(done(found)) == 5
    assert llamar.balance(found).value == pytest.approx(1 / 1.0001)


def test_llamar_check_35_coverage_of_the_checklists_targets(run) -> None:
    found = run("Pick[bread_0]", "Open[fridge_0]", bob("Pick[tomato_0]", SkillCode.TOO_FAR))
    assert llamar.coverage(found).value == 0.5
    assert llamar.coverage_attempted(found).value == 0.75


def test_llamar_check_38_two_of_three_apples(run) -> None:
    apples = ("apple_0", "apple_1", "apple_2")
    checklist = Checklist(
        ambiguity=2,
        subtasks=tuple(
            text
            for apple in apples
            for text in (f"PickupObject({apple})", f"PutObject(fridge_0, {apple})")
        ),
        targets=(*((apple,) for apple in apples), ("fridge_0",)),
    )
    asked = tuple(
        TracedProposition(apple, Predicate.IS_INSIDE, ((apple,), ("fridge_0",))) for apple in apples
    )
    found = run(
        "Pick[apple_0]", place("apple_0"), "Pick[apple_1]", place("apple_1"), "Done[]",
        satisfied=(True, True, False), checklist=checklist, propositions=asked,
    )  # fmt: skip
    assert llamar.success(found).value == 0.0
    assert llamar.transport_rate(found).value == pytest.approx(4 / 6)
