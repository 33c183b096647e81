"""LLaMAR in search and rescue: a scripted model plays a whole scene, judged by the evaluator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llamar_toys import Literal, RoleScript, acted, corrected, planned, verified

from papers.llamar.actions import (
    Action,
    ActionError,
    KnownThing,
    Repertoire,
    Verb,
    admissible,
    parse_action,
)
from papers.llamar.joint_planner import Asking
from papers.llamar.llamar import LlamarOptions, action_list, make_llamar
from papers.llamar.rescue.backend import RescueBackend
from papers.llamar.team import ActionOptions
from planner.app.embedded_run import prepare_run
from planner.app.run import RunResult
from planner.cli import main
from planner.models.chat import Role
from planner.world.house_checks import load_episode

UTAH, YORK, DEPOSIT = "ReservoirUtah_1", "ReservoirYork_1", "DepositFacility_1"
TIMMY = "LostPersonTimmy_1"
# Of the first scene with seed 0.
STEPS = (
    (f"NavigateTo({UTAH})", f"navigate to object {YORK}"),
    (f"get sand from {UTAH}", f"GetSupply({YORK}, Water)"),
    (f"get sand from {UTAH}", "NavigateTo(GreatFireRegion_1)"),
    ("NavigateTo(CaldorFireRegion_1)", "use water on GreatFire_1"),
    ("use sand on CaldorFire_1", "Explore"),
    ("NavigateTo(CaldorFireRegion_2)", f"UseSupply({UTAH}, Sand)"),
    ("UseSupply(CaldorFire_1, Sand)", f"NavigateTo({TIMMY})"),
    (f"NavigateTo({TIMMY})", "stay idle"),
    (f"carry {TIMMY}", f"Carry({TIMMY})"),
    (f"NavigateTo({DEPOSIT})", f"NavigateTo({DEPOSIT})"),
    (f"DropOff({DEPOSIT}, {TIMMY})", f"drop off the person at {DEPOSIT}"),
    ("Done", "Done"),
)


@pytest.fixture(scope="module")
def played() -> tuple[RunResult, RoleScript, RescueBackend]:
    episode, house = load_episode("rescue-1-agents-2")
    script = RoleScript(
        planner=[planned("put out the fires", "bring in the lost person")],
        actor=[acted(Alice=alice, Bob=bob) for alice, bob in STEPS],
        corrector=[corrected(Alice=None, Bob=None)],
        verifier=[verified()],
    )
    options = LlamarOptions(horizon=35, actions=ActionOptions(repertoire=Repertoire.RESCUE))
    backend = RescueBackend()
    run = prepare_run(
        backend,
        house,
        episode,
        lambda task: make_llamar(task, Asking("llamar", script, task.agents), Literal(), options),
    )
    return run.run(), script, backend


def test_a_team_puts_out_the_fires_and_brings_the_person_in(
    played: tuple[RunResult, RoleScript, RescueBackend],
) -> None:
    result, _, backend = played
    assert result.verdict.success, result.verdict.explanation
    scores = backend.checklist.scores()
    assert scores.success
    # Waiting is not an action of the world, so that a step in which nobody else acts is not one.
    assert scores.steps == len(STEPS) - 1


@pytest.mark.slow
def test_the_command_plays_it_by_a_script(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replies: list[str] = []
    for alice, bob in STEPS:
        replies += [planned("put out the fires", "bring in the lost person")]
        replies += [acted(Alice=alice, Bob=bob), corrected(Alice=None, Bob=None), verified()]
    script = tmp_path / "script.txt"
    script.write_text("\n\n".join(replies), encoding="utf-8")
    words = ["run", "rescue-1-agents-2", "--planner", "llamar", "--actions", "rescue"]
    words += ["--model", f"scripted:{script}", "-o", str(tmp_path / "out")]
    assert main(words) == 0
    assert "verdict: success  percent_complete: 1.00" in capsys.readouterr().out


def test_the_prompts_say_what_burns_and_what_each_carries(
    played: tuple[RunResult, RoleScript, RescueBackend],
) -> None:
    _, script, _ = played
    fields = script.fields(Role.ACTOR)
    seen = json.loads(fields[0]["Alice's observation"])
    assert "CaldorFire_1 (chemical fire, low heat)" in seen
    assert "CaldorFireRegion_1 (part of a chemical fire, low heat)" in seen
    assert f"{UTAH} (gives sand)" in seen
    assert not any(TIMMY in text for text in seen)
    assert f"{UTAH} (gives sand, near)" in json.loads(fields[1]["Alice's observation"])
    assert "supplies: 2 sand, 0 water" in fields[3]["Alice's state"]
    after = json.loads(fields[4]["Bob's observation"])
    assert not any(text.startswith("GreatFire") for text in after)
    assert any(TIMMY in text for text in json.loads(fields[5]["Alice's observation"]))
    # Throwing sand at a reservoir is refused, and said.
    assert "failed (not applicable)" in fields[6]["Bob's previous action"]
    system = script.messages(Role.ACTOR)[0][0].text
    assert "search and rescue" in system
    assert "- carry <object>" in system
    assert "in a home" not in system


@pytest.mark.parametrize(
    ("text", "verb", "argument"),
    [
        ("UseSupply(CaldorFire_1, Sand)", Verb.USE_SAND, "CaldorFire_1"),
        ("GetSupply(ReservoirYork_1, water)", Verb.GET_WATER, YORK),
        (f"DropOff({DEPOSIT}, {TIMMY})", Verb.DROP_OFF, DEPOSIT),
        ("clear inventory", Verb.CLEAR_INVENTORY, ""),
        (f"Carry({TIMMY})", Verb.CARRY, TIMMY),
    ],
)
def test_the_published_spellings_are_read(text: str, verb: Verb, argument: str) -> None:
    assert parse_action(text) == Action(verb, argument)
    assert parse_action(Action(verb, argument).words) == Action(verb, argument)


@pytest.mark.parametrize("text", ["UseSupply(CaldorFire_1)", "GetSupply(x, Foam)", "UseSupply()"])
def test_a_supply_has_to_be_named(text: str) -> None:
    with pytest.raises(ActionError, match="takes a place and Sand or Water"):
        parse_action(text)


def test_only_what_fits_is_offered() -> None:
    flammable = frozenset({"flammable"})
    things = (
        KnownThing(
            "GreatFire_1", "f", "f", False, affordances=flammable, states=frozenset({"burning"})
        ),
        KnownThing("RedFire_1", "r", "r", False, affordances=flammable),
        KnownThing(UTAH, "u", "u", False, states=frozenset({"gives_sand"})),
        KnownThing(TIMMY, "t", "t", True),
    )
    offered = {str(action) for action in admissible(things, repertoire=Repertoire.RESCUE)}
    assert {"UseSand(GreatFire_1)", f"GetSand({UTAH})", f"Carry({TIMMY})", "Explore"} <= offered
    assert not offered & {"UseSand(RedFire_1)", f"GetWater({UTAH})", f"Pickup({TIMMY})"}
    assert "Carry" not in {str(action.verb) for action in admissible(things)}
    assert "open object" not in action_list(ActionOptions(repertoire=Repertoire.RESCUE)).text
    assert "carry" not in action_list(ActionOptions()).text


def play_taught(folder: Path, planner: str, *more: str) -> int:
    words = ["run", "rescue-1-agents-2", "--planner", planner, "--actions", "rescue"]
    return main([*words, "--model", "teacher", *more, "-o", str(folder)])


@pytest.mark.slow
@pytest.mark.parametrize("planner", ["llamar", "llamar_react"])
def test_the_teacher_knows_what_rescuers_should_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], planner: str
) -> None:
    """LLAMAR-D84: by the rules of search and rescue, in the words of each role."""
    assert play_taught(tmp_path, planner) == 0
    assert "verdict: success  percent_complete: 1.00" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("planner", ["llamar_coela", "llamar_smart_llm"])
def test_the_teacher_says_which_rescuers_it_cannot_teach(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], planner: str
) -> None:
    """LLAMAR-D84."""
    play_taught(tmp_path, planner)
    said = " ".join(capsys.readouterr())
    method = "CoELA" if "coela" in planner else "SmartLLM"
    assert f"the model teacher knows no replies of {method} in search and rescue" in said
    assert "verdict: failure" in said


@pytest.mark.slow
def test_a_faulty_teacher_of_rescuers_errs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    play_taught(tmp_path, "llamar_act", "--invented-entity", "1", "--horizon", "4")
    said = capsys.readouterr().out
    assert "(SamovarReservoir" in said
    assert "_2 was never seen" in said
    assert "verdict: failure" in said
