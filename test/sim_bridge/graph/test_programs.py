"""VirtualHome's programs: their lines, what actions do without positions, and their ends."""

import json
from pathlib import Path
from typing import Any

import graph_kitchen as kitchen
import pytest
from graph_kitchen import KITCHEN, LIVING, ROBOT, edge, node

from planner.cli import main
from planner.world.errors import FileError, PlannerError
from planner.world.vocabulary import AgentKind, Relation
from sim_bridge.graph.acting import Action, Precondition, Verb, script_action
from sim_bridge.graph.programs import (
    GRAPHS,
    PROGRAMS,
    paired,
    play_program,
    read_graphs,
    read_program,
)
from sim_bridge.graph.scene import Posture
from sim_bridge.graph.world import GraphWorld

CHAIR, DESK, MOUSE, COMPUTER, WATER, GLASS, NOVEL, TV = 30, 31, 32, 33, 34, 35, 36, 37
SIT_DOWN = ("[WALK] <chair> (1.30)", "[SIT] <chair> (1.30)")


def office() -> dict[str, Any]:
    """The kitchen, and in the living room a chair at a desk with a computer, without positions."""
    document = kitchen.graph()
    document["nodes"] += [
        node(CHAIR, "chair", properties=["GRABBABLE", "SITTABLE"]),
        node(DESK, "desk", properties=["SURFACES"]),
        node(MOUSE, "mouse", properties=["GRABBABLE"]),
        node(COMPUTER, "computer", properties=["HAS_SWITCH"], states=["OFF", "PLUGGED_OUT"]),
        node(WATER, "water", "placable_objects", properties=["POURABLE"]),
        node(GLASS, "water_glass", properties=["GRABBABLE", "RECIPIENT"]),
        node(NOVEL, "novel", properties=["GRABBABLE", "READABLE"]),
        node(TV, "television", properties=["LOOKABLE"]),
    ]
    document["edges"] += [
        edge(CHAIR, "INSIDE", LIVING),
        edge(DESK, "INSIDE", LIVING),
        edge(COMPUTER, "INSIDE", LIVING),
        edge(MOUSE, "ON", DESK),
        edge(NOVEL, "ON", kitchen.TABLE),
        edge(GLASS, "ON", kitchen.TABLE),
        edge(WATER, "INSIDE", kitchen.TABLE),
        edge(TV, "INSIDE", LIVING),
        edge(CHAIR, "CLOSE", MOUSE),
    ]
    return document


def _world(tmp_path: Path) -> GraphWorld:
    return kitchen.world(tmp_path, office(), AgentKind.HUMAN)


@pytest.mark.parametrize(
    ("line", "action"),
    [
        ("[WALK] <home_office> (1.319)", Action(Verb.WALK, "home_office_319")),
        ("[Walk] <DINING ROOM> (4) [0]", Action(Verb.WALK, "dining_room_4")),
        ("[RUN] <chair> (1.30)", Action(Verb.WALK, "chair_30")),
        ("[RINSE] <bowl> (1.12)", Action(Verb.WIPE, "bowl_12")),
        (
            "[PUTBACK] <bowl> (1.12) <table> (2.11)",
            Action(Verb.PUT, "bowl_12", "table_11"),
        ),
        ("[STANDUP]", Action(Verb.STANDUP)),
        ("<char0> [lookat] <tv> (7)", Action(Verb.LOOKAT, "tv_7")),
    ],
)
def test_lines_of_programs_are_read(line: str, action: Action) -> None:
    assert script_action(line) == action


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("[PUTON] <hat> (1.5)", "PUTON: nobody wears clothes"),
        ("[PUTOFF] <hat> (1.5)", "PUTOFF: nobody wears clothes"),
        ("[WALKTOWARDS] <hat> (5)", "there is no action WALKTOWARDS"),
        ("[SIT]", "SIT takes 1 arguments, got 0"),
        ("[WALK] <hat> (one)", "is not a script line"),
    ],
)
def test_a_line_that_is_no_action_here_is_refused_by_name(line: str, reason: str) -> None:
    with pytest.raises(PlannerError, match=reason):
        script_action(line)


def test_who_sits_reaches_what_the_graph_says_is_close_and_cannot_walk(tmp_path: Path) -> None:
    world = _world(tmp_path)
    agent = world.agents["agent_0"]
    assert kitchen.play(world, *SIT_DOWN) == [None, None]
    assert agent.rest == (Posture.SITTING, "chair_30")
    # As if the desk was far: the made-up places say nothing.
    agent.x_m += 50.0
    assert kitchen.play(
        world,
        "[FIND] <mouse> (1.32)",
        "[GRAB] <mouse> (1.32)",
        "[GRAB] <apple> (1.13)",
        "[WALK] <kitchen> (1.1)",
        "[FIND] <novel> (1.36)",
        "[SIT] <chair> (1.30)",
        "[SLEEP]",
    ) == [
        None,
        None,
        Precondition.NEAR,
        Precondition.STANDING,
        Precondition.NEAR,
        Precondition.STANDING,
        None,
    ]
    assert kitchen.play(world, "[STANDUP]", "[WAKEUP]", "[WALK] <kitchen> (1.1)") == [
        None,
        Precondition.SEATED,
        None,
    ]
    assert kitchen.play(world, "[TOUCH] <chair> (1.30)") == [Precondition.NEAR]


def test_what_is_unplugged_is_switched_on_after_plugging_in(tmp_path: Path) -> None:
    world = _world(tmp_path)
    assert kitchen.play(
        world,
        "[FIND] <computer> (1.33)",
        "[SWITCHON] <computer> (1.33)",
        "[PLUGOUT] <computer> (1.33)",
        "[PLUGIN] <desk> (1.31)",
        "[PLUGIN] <computer> (1.33)",
        "[SWITCHON] <computer> (1.33)",
    ) == [
        None,
        Precondition.IS_PLUGGED_IN,
        Precondition.IS_PLUGGED_IN,
        Precondition.HAS_PLUG,
        None,
        None,
    ]
    assert world.states_of("computer_33")["powered_on"]


def test_things_are_dropped_put_back_and_poured(tmp_path: Path) -> None:
    world = _world(tmp_path)
    novel = ("[WALK] <novel> (1.36)", "[GRAB] <novel> (1.36)", "[READ] <novel> (1.36)")
    assert kitchen.play(world, *novel, "[PUTOBJBACK] <novel> (1.36)") == [None] * 4
    assert world.place_of("novel_36") == (Relation.ON, "kitchentable_11")
    assert kitchen.play(world, *novel[:2], "[DROP] <novel> (1.36)") == [None] * 3
    assert world.place_of("novel_36") == (Relation.ON, "floor_kitchen_1")
    assert kitchen.play(
        world,
        "[READ] <novel> (1.36)",
        "[FIND] <water> (1.34)",
        "[GRAB] <water> (1.34)",
        "[POUR] <water> (1.34) <water_glass> (1.35)",
    ) == [Precondition.HELD, None, None, None]
    assert world.place_of("water_34") == (Relation.WITHIN, "water_glass_35")


def test_looking_turns_to_what_is_in_the_room(tmp_path: Path) -> None:
    world = _world(tmp_path)
    before = world.agents["agent_0"].yaw_rad
    assert kitchen.play(world, "[WALK] <chair> (1.30)", "[WATCH] <television> (1.37)") == [None] * 2
    assert world.agents["agent_0"].yaw_rad != before
    assert kitchen.play(world, "[WATCH] <desk> (1.31)", "[LOOKAT] <bowl> (1.12)") == [
        Precondition.MADE_FOR_IT,
        Precondition.SAME_ROOM,
    ]


def _dataset(folder: Path) -> tuple[Path, Path]:
    """A program that takes the mouse on a chair, in the layout of the published data sets."""
    end = office()
    end["edges"] = [
        e for e in end["edges"] if e["from_id"] not in (ROBOT, MOUSE) or e["to_id"] == KITCHEN
    ]
    end["nodes"][8]["states"] = ["SITTING"]
    end["edges"] += [
        edge(ROBOT, "INSIDE", LIVING),
        edge(ROBOT, "ON", CHAIR),
        edge(ROBOT, "HOLDS_RH", MOUSE),
        edge(ROBOT, "HOLDS_LH", MOUSE),
        edge(MOUSE, "INSIDE", LIVING),
    ]
    program = folder / PROGRAMS / "home" / "work.txt"
    graphs = folder / GRAPHS / "home" / "work.json"
    for path in (program, graphs):
        path.parent.mkdir(parents=True, exist_ok=True)
    text = ("Work", "sit down and [slowly] take the mouse", "", *SIT_DOWN, "[GRAB] <mouse> (1.32)")
    program.write_text("\n".join(text), encoding="utf-8")
    graphs.write_text(json.dumps({"init_graph": office(), "final_graph": end}), encoding="utf-8")
    return program, graphs


def test_a_program_is_compared_with_its_final_graph(tmp_path: Path) -> None:
    program, graphs = _dataset(tmp_path)
    assert paired(tmp_path) == [(program, graphs)]
    actions, (start, end) = read_program(program), read_graphs(graphs)
    done = play_program(actions, start, end)
    assert (done.problem, done.ran) == ("", True)
    short = play_program(actions[:-1], start, end)
    assert (short.problem, short.ran) == ("the hands hold [], not ['mouse_32']", True)
    wrong = play_program((*actions, script_action("[OPEN] <fridge> (10)")), start, end)
    assert (wrong.problem, wrong.ran) == (
        "action 4, OPEN fridge_10: violated precondition: close",
        False,
    )


def test_a_bad_file_is_named_and_the_others_are_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, graphs = _dataset(tmp_path)
    assert main(["houses", "play", str(tmp_path)]) == 0
    (tmp_path / PROGRAMS / "home" / "bad.txt").write_text("[FLY] <chair> (30)", encoding="utf-8")
    (graphs.parent / "bad.json").write_text(graphs.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / PROGRAMS / "home" / "alone.txt").write_text("[STANDUP]", encoding="utf-8")
    capsys.readouterr()
    assert main(["houses", "play", str(tmp_path)]) == 1
    alone, bad, told = capsys.readouterr().out.splitlines()
    assert alone.startswith(f"{graphs.parent / 'alone.json'}: cannot be read")
    assert bad.endswith("bad.txt: line 1: '[FLY] <chair> (30)': there is no action FLY")
    assert told == (
        "3 programs: the graphs of 2 load, 1 can be carried out, 1 reach their final graph"
    )


@pytest.mark.parametrize("text", ["", "Work\n\njust words\n"])
def test_a_program_without_actions_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "empty.txt"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match="has no action"):
        read_program(path)
