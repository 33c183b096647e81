"""Each rule of the lint with an example that fails it and no other; the shipped episodes pass."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from planner.cli import main
from planner.episodes.lint.goal import SENTENCES, WARNINGS, Rule
from planner.episodes.lint.linting import Linter, lint_files, run_lint
from planner.episodes.recipes.build import shipped_episodes
from planner.episodes.start_state import start_entities
from planner.world.catalogue import default_catalogue
from planner.world.house_checks import load_episode
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

PATHS = {path.stem: path for path in shipped_episodes()}
SOUND: dict[str, Any] = json.loads(PATHS["coffee_time_0"].read_text(encoding="utf-8"))
PAGE = Path(__file__).parents[4] / "docs" / "episodes.md"

Document = dict[str, Any]
Example = Callable[[Document], object]


def _say(name: str, objects: Sequence[str], *second: Sequence[str], **more: object) -> Document:
    lists = {"is_in_room": "rooms", "is_next_to": "entities_b"}
    first = "entities_a" if name == "is_next_to" else "objects"
    args: Document = {first: list(objects), **more}
    if second:
        args[lists.get(name, "receptacles")] = list(second[0])
    return {"function_name": name, "args": args}


def _goal(document: Document, *propositions: Document, **more: object) -> None:
    document["evaluation"] = {"propositions": list(propositions), **more}
    names = {item["function_name"] for item in propositions}
    states = any(name.startswith(("is_clean", "is_dirty", "is_fill", "is_pow")) for name in names)
    found = [
        kind
        for kind, holds in (
            ("spatial", bool(names & {"is_next_to", "is_clustered"})),
            ("temporal", any("edges" in c for c in more.get("constraints", ()))),  # type: ignore[attr-defined]
            ("heterogeneous", states),
        )
        if holds
    ]
    document["task_types"] = found or ["constraint_free"]


CUP_TO_BED = _say("is_on_top", ["cup_0"], ["bed_0"])


def _same(document: Document) -> None:
    _goal(
        document,
        _say("is_on_top", ["cup_0"], ["bed_0"]),
        _say("is_on_top", ["cup_1"], ["bed_1"]),
        constraints=[
            {"type": "SameArgConstraint", "proposition_indices": [0, 1], "arg_indices": [1, 1]}
        ],
    )


def _different(document: Document) -> None:
    _goal(
        document,
        _say("is_on_top", ["cup_0"], ["bed_0"]),
        _say("is_on_top", ["cup_1"], ["bed_0"]),
        constraints=[
            {"type": "DifferentArgConstraint", "proposition_indices": [0, 1], "arg_indices": [1, 1]}
        ],
    )


def _gate(relation: str, gated: int, head: int) -> Document:
    return {"proposition_indices": [gated], "depends_on": [head], "relation_type": relation}


def _close_to(*names: str) -> Document:
    return {"variables": {"A": list(names)}, "success": [["CLOSE", "robot", "A"]]}


def _twice(name: str) -> Document:
    return {"variables": {"A": [name], "B": [name]}, "success": [["CLOSE", "A", "B"]]}


def _order(*edges: list[int]) -> Document:
    return {"type": "TemporalConstraint", "edges": list(edges)}


TO_BED = _say("is_on_top", ["cup_0"], ["bed_0"])
TO_SOFA = _say("is_on_top", ["cup_0"], ["couch_0"])
ON_DESK = _say("is_on_top", ["cup_0"], ["desk_0"])
NO_END = {"exclude_final_constraint": [0]}


def _checklist(document: Document, *subtasks: str, target: str = "cup_0") -> None:
    """Of a goal whose first proposition puts the cup on the bed."""
    _goal(document, CUP_TO_BED)
    document["checklist"] = {
        "ambiguity": 1,
        "subtasks": ["PickupObject(cup_0)", "PutObject(bed_0, cup_0)", *subtasks],
        "targets": [["bed_0"], [target]],
    }


def _unserved(document: Document) -> None:
    _checklist(document)
    document["checklist"]["subtasks"].pop()
    document["checklist"]["targets"].pop(0)


EXAMPLES: list[tuple[Rule, Example]] = [
    (Rule.VERSION, lambda d: d.update(version=99)),
    (Rule.SCHEMA, lambda d: d.update(colour="red")),
    (Rule.SCHEMA, lambda d: d.pop("instruction")),
    (
        Rule.NEEDS_SCENE,
        lambda d: d.update(
            house="hssd-1",
            source={
                "dataset": "partnr",
                "file": "val.json.gz",
                "scene_id": "1",
                "episode_id": "0",
                "needs_scene": True,
            },
        ),
    ),
    (Rule.SCHEMA, lambda d: d.update(seed=-1)),
    (Rule.SCHEMA, lambda d: d.update(seed=2**63)),
    (Rule.SCHEMA, lambda d: d.update(seed=10**400)),
    (Rule.SCHEMA, lambda d: d.update(instruction="Put the cup \ud800 there.")),
    (Rule.SCHEMA, lambda d: d.update(episode_id="../coffee_time_0")),
    (Rule.SCHEMA, lambda d: d.update(episode_id="c" * 201)),
    (Rule.SCHEMA, lambda d: d.update(house="train_0\0")),
    (Rule.HOUSE, lambda d: d.update(house="nowhere")),
    (Rule.HOUSE, lambda d: d.update(house="n" * 300)),
    (Rule.HOUSE, lambda d: d.update(house="n" * 300 + ".json")),
    (Rule.PLACEMENT, lambda d: d["objects"][0]["pose"].__setitem__(2, 1.2)),
    (Rule.PLACEMENT, lambda d: d["agents"][0].update(start=[-99.0, 0.0, 0.0])),
    (Rule.PLACEMENT, lambda d: d.update(furniture={"table_0": {"open": True}})),
    (Rule.PLACEMENT, lambda d: d["objects"][3].update(name="table_0")),
    (Rule.PLACEMENT, lambda d: d["objects"][3].update(name="agent_1")),
    (Rule.PLACEMENT, lambda d: d["objects"][3].update(name="kitchen_0")),
    (Rule.UNKNOWN_ENTITY, lambda d: d["objects"][3].update(class_name="unicorn")),
    (Rule.UNKNOWN_ENTITY, lambda d: d["objects"][3].update(parent="table_77")),
    (Rule.UNKNOWN_ENTITY, lambda d: d.update(furniture={"table_77": {"states": {}}})),
    (Rule.UNKNOWN_ENTITY, lambda d: _goal(d, _say("is_on_top", ["cup_9"], ["bed_0"]))),
    (Rule.WRONG_KIND, lambda d: _goal(d, _say("is_in_room", ["cup_0"], ["bed_0"]))),
    (Rule.WRONG_KIND, lambda d: _goal(d, _say("is_inside", ["cup_0"], ["table_0"]))),
    (Rule.MISSING_AFFORDANCE, lambda d: d["objects"][3].update(states={"powered_on": True})),
    (Rule.MISSING_AFFORDANCE, lambda d: _goal(d, _say("is_powered_on", ["cup_0"]))),
    (Rule.NO_INSTRUCTION, lambda d: d.update(instruction=" ")),
    (Rule.NO_EVALUATION, lambda d: d.update(evaluation=None, task_types=[])),
    (Rule.EVALUATION, lambda d: _goal(d, _say("is_left_of", ["cup_0"]))),
    (Rule.EVALUATION, lambda d: d["evaluation"].update(propositions=[])),
    (Rule.UNKNOWN_ENTITY, lambda d: d.update(criteria=_close_to("cup_9"))),
    (Rule.CRITERIA, lambda d: d.update(criteria=_close_to())),
    (Rule.CRITERIA, lambda d: d.update(criteria=_twice("cup_0"))),
    (Rule.INDEX, lambda d: _goal(d, TO_BED, dependencies=[_gate("after_satisfied", 0, 7)])),
    (Rule.INDEX, lambda d: _goal(d, TO_BED, exclude_final_constraint=[1])),
    (Rule.CYCLE, lambda d: _goal(d, TO_BED, TO_SOFA, constraints=[_order([0, 1], [1, 0])])),
    (Rule.CYCLE, lambda d: _goal(d, TO_BED, dependencies=[_gate("while_satisfied", 0, 0)])),
    (Rule.NUMBER, lambda d: _goal(d, _say("is_on_top", ["cup_0"], ["bed_0"], number=2))),
    (Rule.DUPLICATE, lambda d: _goal(d, TO_BED, TO_BED)),
    (
        Rule.DUPLICATE,
        lambda d: _goal(
            d,
            _say("is_on_top", ["cup_0", "cup_1"], ["bed_0", "bed_1"]),
            _say("is_on_top", ["cup_1", "cup_0"], ["bed_1", "bed_0"]),
        ),
    ),
    (Rule.CONTRADICTION, lambda d: _goal(d, TO_BED, TO_SOFA)),
    (
        Rule.CONTRADICTION,
        lambda d: _goal(d, TO_BED, _say("is_in_room", ["cup_0"], ["kitchen_0"])),
    ),
    (
        Rule.CONTRADICTION,
        lambda d: _goal(
            d,
            _say("is_inside", ["cup_0"], ["fridge_0"]),
            _say("is_inside", ["cup_0"], ["oven_0"]),
        ),
    ),
    (
        Rule.CONTRADICTION,
        lambda d: _goal(
            d,
            _say("is_powered_on", ["tv_0"]),
            _say("is_powered_off", ["tv_0"]),
            _say("is_clean", ["table_0"]),
            exclude_final_constraint=[2],
        ),
    ),
    (
        Rule.CONTRADICTION,
        lambda d: _goal(
            d,
            TO_BED,
            _say("is_on_top", ["cup_1"], ["bed_1"]),
            dependencies=[_gate("after_satisfied", 0, 1)],
            constraints=[_order([0, 1])],
        ),
    ),
    (
        Rule.CONTRADICTION,
        lambda d: _goal(
            d,
            {
                "function_name": "is_clustered",
                "args": {"entities": [["cup_0"], ["cup_0"]]},
            },
        ),
    ),
    (Rule.CONTRADICTION, _same),
    (Rule.CONTRADICTION, _different),
    (Rule.ALREADY_SATISFIED, lambda d: _goal(d, ON_DESK)),
    (Rule.STATE_AT_START, lambda d: _goal(d, TO_BED, _say("is_clean", ["cup_0"]))),
    (Rule.TRUE_AT_START, lambda d: _goal(d, ON_DESK, _say("is_on_top", ["cup_1"], ["bed_1"]))),
    (Rule.UNGATED, lambda d: _goal(d, TO_BED, ON_DESK, **NO_END)),
    (
        Rule.LOST_HEAD,
        lambda d: _goal(
            d,
            TO_BED,
            _say("is_on_top", ["cup_1"], ["bed_0"]),
            dependencies=[_gate("while_satisfied", 1, 0)],
            **NO_END,
        ),
    ),
    (Rule.UNSOLVABLE, lambda d: _goal(d, _say("is_dirty", ["cup_0"]))),
    (Rule.UNSOLVABLE, lambda d: _goal(d, _say("is_on_top", ["chair_0"], ["bed_0"]))),
    (Rule.UNSOLVABLE, lambda d: _goal(d, _say("is_on_top", ["cup_0"], ["lunch_box_0"]))),
    (
        Rule.UNSOLVABLE,
        lambda d: _goal(d, _say("is_inside", ["electric_kettle_0"], ["nightstand_0"])),
    ),
    (Rule.UNSOLVABLE, lambda d: d["agents"].pop(1)),
    (Rule.SCHEMA, lambda d: _checklist(d, "Juggle(cup_0)")),
    (Rule.UNKNOWN_ENTITY, lambda d: _checklist(d, "NavigateTo(cup_99)")),
    (Rule.CHECKLIST, lambda d: _checklist(d, "PickupObject(bed_0)")),
    (Rule.CHECKLIST, lambda d: _checklist(d, "PutObject(bed_0, desk_0)")),
    (Rule.CHECKLIST, lambda d: _checklist(d, "OpenObject(cup_0)")),
    (Rule.CHECKLIST, lambda d: _checklist(d, "ToggleObjectOn(cup_0)")),
    (Rule.CHECKLIST, lambda d: _checklist(d, target="desk_0")),
    (Rule.CHECKLIST, _unserved),
    (Rule.TASK_TYPES, lambda d: d.update(task_types=["temporal"])),
]


def _rules(document: object, folder: Path) -> list[Rule]:
    path = folder / "episode.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return [finding.rule for finding in Linter().lint(path).findings]


def test_the_example_they_are_made_from_is_sound(tmp_path: Path) -> None:
    assert _rules(SOUND, tmp_path) == []


# What inevitably comes with a rule: a wrong order is true too early, for example.
BESIDE = {
    Rule.UNGATED: {Rule.TRUE_AT_START},
    Rule.CONTRADICTION: {Rule.TRUE_AT_START, Rule.STATE_AT_START},
}


@pytest.mark.parametrize(
    ("rule", "spoil"), EXAMPLES, ids=[f"{r}-{i}" for i, (r, _) in enumerate(EXAMPLES)]
)
def test_every_rule_finds_what_it_is_for(rule: Rule, spoil: Example, tmp_path: Path) -> None:
    document = copy.deepcopy(SOUND)
    spoil(document)
    found = set(_rules(document, tmp_path))
    assert rule in found
    assert found - {rule} <= BESIDE.get(rule, set())


def test_a_sound_checklist_has_no_finding(tmp_path: Path) -> None:
    document = copy.deepcopy(SOUND)
    _checklist(document, "NavigateTo(bed_0, cup_0)")
    assert _rules(document, tmp_path) == []


def test_every_rule_has_an_example_a_sentence_and_a_row_in_the_docs() -> None:
    tried = {rule for rule, _ in EXAMPLES} | {Rule.UNREADABLE, Rule.UNSOLVED, Rule.REFERENCE_PLAN}
    assert tried == set(Rule) == set(SENTENCES)
    page = PAGE.read_text(encoding="utf-8")
    for rule in Rule:
        severity = "warning" if rule in WARNINGS else "error"
        assert f"| `{rule}` | {severity} | {SENTENCES[rule]} |" in page


def test_a_key_that_is_there_twice_is_named(tmp_path: Path) -> None:
    path = tmp_path / "episode.json"
    path.write_text('{"instruction": "other", ' + json.dumps(SOUND)[1:], encoding="utf-8")
    (found,) = Linter().lint(path).findings
    assert (found.rule, found.field) == (Rule.SCHEMA, "instruction")
    assert found.reason == "is there twice"


@pytest.mark.parametrize("text", ["", "{", "\x00", '{"version": 1' + "[" * 10_000])
def test_what_is_no_json_is_unreadable(text: str, tmp_path: Path) -> None:
    path = tmp_path / "episode.json"
    path.write_text(text, encoding="utf-8")
    report = Linter().lint(path)
    assert [finding.rule for finding in report.findings] == [Rule.UNREADABLE]
    assert report.episode_id == ""


@pytest.mark.parametrize(
    "spoil",
    [
        # Twice at the same place, but at different times.
        lambda d: _goal(
            d,
            TO_SOFA,
            TO_BED,
            TO_SOFA,
            constraints=[_order([0, 1], [1, 2])],
            dependencies=[_gate("after_unsatisfied", 2, 1)],
            exclude_final_constraint=[0, 1],
        ),
        # Two of them, told apart by a constraint.
        lambda d: _goal(
            d,
            _say("is_on_top", ["cup_0", "cup_1"], ["bed_0"]),
            _say("is_on_top", ["cup_0", "cup_1"], ["bed_0"]),
            constraints=[
                {
                    "type": "DifferentArgConstraint",
                    "proposition_indices": [0, 1],
                    "arg_indices": [0, 0],
                }
            ],
        ),
        # One cup to each place: there are two of them.
        lambda d: _goal(
            d,
            _say("is_on_top", ["cup_0", "cup_1"], ["bed_0"]),
            _say("is_on_top", ["cup_0", "cup_1"], ["couch_0"]),
        ),
        # First there, then here.
        lambda d: _goal(d, TO_BED, TO_SOFA, constraints=[_order([0, 1])], **NO_END),
        lambda d: _goal(
            d,
            _say("is_on_top", ["cup_1"], ["bed_0"]),
            _say("is_in_room", ["cup_1"], ["bedroom_0"]),
        ),
    ],
)
def test_what_only_looks_wrong_passes(spoil: Example, tmp_path: Path) -> None:
    document = copy.deepcopy(SOUND)
    spoil(document)
    assert _rules(document, tmp_path) == []


@pytest.mark.parametrize(
    ("name", "tool"), [("tomato_slices_0", "knife"), ("water_plant_0", "watering_can")]
)
def test_what_a_skill_needs_may_be_made_but_must_be_there(
    name: str, tool: str, tmp_path: Path
) -> None:
    document = json.loads(PATHS[name].read_text(encoding="utf-8"))
    assert _rules(document, tmp_path) == []
    fillable = ("cup", "glass", "vase", "pot", "bottle")
    document["objects"] = [
        item
        for item in document["objects"]
        if item["class_name"] != tool and not item["class_name"].startswith(fillable)
    ]
    assert Rule.UNSOLVABLE in _rules(document, tmp_path)


def test_every_shipped_episode_passes() -> None:
    reports = list(lint_files(list(PATHS.values())))
    assert len(reports) == len(PATHS) >= 64
    assert [(r.file, f) for r in reports for f in r.findings] == []


def test_processes_say_what_one_says(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}", encoding="utf-8")
    paths = [broken, PATHS["coffee_time_0"], PATHS["demo_dinner"]]
    assert list(lint_files(paths, processes=2)) == list(lint_files(paths, processes=1))


def test_the_start_is_the_simulators() -> None:
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    names = ("coffee_time_0", "demo_dinner", "books_back_0")
    for name in names:
        episode, house = load_episode(PATHS[name])
        opened = {
            piece.name: {"open": True}
            for piece in house.furniture
            if any(h.moves for h in piece.interiors)
        }
        episode = type(episode).model_validate({**episode.model_dump(), "furniture": opened})
        backend.reset(house, episode, 0)
        state = backend.world_state()
        assert state is not None
        computed = start_entities(episode, house, default_catalogue())
        told = {n: e for n, e in state.entities.items() if e.kind is not EntityKind.AGENT}
        assert set(computed) == set(told)
        for entity_name, entity in told.items():
            own = computed[entity_name]
            assert own.pose.position_m == pytest.approx(entity.pose.position_m)
            assert own.pose.orientation == pytest.approx(entity.pose.orientation)
            assert (own.states or {}) == (entity.states or {})
            assert (own.parent, own.room, own.openness) == (
                entity.parent,
                entity.room,
                entity.openness,
            )
    backend.close()


def test_the_command_counts_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = copy.deepcopy(SOUND)
    _goal(document, ON_DESK)
    document["instruction"] = ""
    (tmp_path / "bad.json").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "good.json").write_text(json.dumps(SOUND), encoding="utf-8")
    assert main(["episodes", "lint", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "bad.json: error already-satisfied: evaluation.propositions: everything" in told
    assert told.endswith("2 episodes: 1 errors, 1 warnings\n")
    assert main(["episodes", "lint", str(tmp_path / "good.json")]) == 0
    assert main(["episodes", "lint", "--json", str(tmp_path)]) == 1
    capsys_text = capsys.readouterr().out
    report = json.loads(capsys_text[capsys_text.index("{") :])
    assert (report["version"], report["files"], report["errors"], report["warnings"]) == (
        1,
        2,
        1,
        1,
    )
    assert report["reports"][0]["findings"][0] == {
        "rule": "no-instruction",
        "severity": "warning",
        "field": "instruction",
        "reason": "there is no instruction",
    }


def test_warnings_fail_where_that_is_asked(tmp_path: Path) -> None:
    document = {**copy.deepcopy(SOUND), "instruction": ""}
    path = tmp_path / "quiet.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    assert main(["episodes", "lint", str(path)]) == 0
    assert main(["episodes", "lint", "--strict", str(path)]) == 1


def test_places_that_do_not_exist_are_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["episodes", "lint", "no/such/place"]) == 2
    assert "no/such/place: there is no such file" in capsys.readouterr().err


def test_rules_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["episodes", "lint", "--rules"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in told] == [rule.value for rule in Rule]


def test_what_a_planner_cannot_solve_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import argparse

    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(SOUND), encoding="utf-8")
    bad.write_text(json.dumps({**SOUND, "colour": "red"}), encoding="utf-8")
    asked: list[Path] = []

    def solve(path: Path) -> str:
        asked.append(path)
        return "gave up"

    args = argparse.Namespace(
        places=[tmp_path], solve=True, strict=False, json=False, rules=False, processes=1
    )
    assert run_lint(args, solve) == 1
    assert asked == [good]
    assert f"{good}: error unsolved: gave up" in capsys.readouterr().out


@pytest.mark.slow
def test_expert_solves_an_episode_in_process(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["episodes", "lint", "--solve", str(PATHS["coffee_time_0"])]) == 0
    assert "1 episodes: 0 errors, 0 warnings" in capsys.readouterr().out
