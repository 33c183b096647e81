"""PARTNR's episode files, of the published layout and of our own content."""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from partnr_layout import BALL, CUP, SHELVES, TABLE, episode, proposition, write, write_metadata

from papers.partnr.episodes.episodes import import_partnr_episodes
from planner.cli import main
from planner.episodes.importing.importer import Imported
from planner.episodes.lint.goal import Rule
from planner.episodes.lint.linting import Linter
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import GateRelation, Predicate, TieKind
from planner.world.errors import FileError


def _imported(folder: Path, *episodes: Any, fit: bool = False) -> Imported:
    path = write(folder, list(episodes))
    return import_partnr_episodes(
        [path], 0, fit=fit, metadata=write_metadata(folder, *range(len(episodes)))
    )


def _reason(folder: Path, **more: object) -> str:
    result = _imported(folder, episode(0, **more))
    assert not result.episodes
    (fault,) = result.left_out
    assert (fault.file, fault.episode_id) == ("val.json.gz", "0")
    return fault.reason


def test_an_episode_keeps_its_scene_names_and_poses(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, episode(0)).episodes
    assert (made.house, made.split) == ("hssd-102", "val")
    assert made.source is not None
    assert made.source.needs_scene
    assert made.source.scene_id == "102"
    assert len(made.source.sha256) == 64
    cup = next(item for item in made.objects if item.name == "cup_0")
    # Habitat's (1, 0.9, -2), y up, is (1, 2, 0.9) here; the pose is of the underside.
    assert cup.pose[:2] == (1.0, 2.0)
    assert cup.pose[2] == pytest.approx(0.9 - cup.size_m[2] / 2)
    assert cup.states == {"clean": False}
    assert (cup.parent, cup.class_name) == ("table_0", "cup")
    assert next(o for o in made.objects if o.name == "ball_0").parent == "floor_bedroom_0"


def test_the_evaluation_means_the_same(tmp_path: Path) -> None:
    (made,) = _imported(tmp_path, episode(0)).episodes
    evaluation = read_evaluation(made.evaluation, "val")
    assert [p.predicate for p in evaluation.propositions] == [
        Predicate.IS_ON_TOP,
        Predicate.IS_ON_TOP,
        Predicate.IS_NEXT_TO,
        Predicate.IS_INSIDE,
    ]
    assert evaluation.propositions[0].lists == (("cup_0",), ("shelves_4",))
    (gate,) = evaluation.dependencies
    assert (gate.gated, gate.depends_on) == ((2,), (0, 1))
    assert gate.relation is GateRelation.WHILE_SATISFIED
    assert evaluation.edges == ((0, 3), (1, 3), (2, 3))
    (tie,) = evaluation.ties
    assert (tie.kind, tie.members) == (TieKind.SAME, ((0, 1), (1, 1)))
    assert evaluation.terminal == {0, 1, 2, 3}
    assert set(made.task_types) == {"spatial", "temporal"}


def test_python_text_means_what_objects_mean(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    document = episode(0)
    text = episode(
        0,
        evaluation_propositions=[
            f'is_on_top(["{CUP}"], ["{SHELVES}"], is_same_receptacle=False)',
            'is_on_top(["bowl_0"], "shelves in living_room")',
            'is_next_to("cup_0", "bowl_0", l2_threshold=0.5)',
            f'is_inside(["{BALL}"], ["fridge_1"], number=1)',
        ],
        evaluation_proposition_dependencies=["WhileSatisfied([2], depends_on=[0, 1])"],
        evaluation_constraints=[
            "TemporalConstraint([(0, 3), (1, 3), (2, 3)], n_propositions=4)",
            'SameArgConstraint([0, 1], ["receptacle_handles", "receptacle_handles"])',
            "TerminalSatisfactionConstraint([0, 1, 2, 3])",
        ],
    )
    (one,) = _imported(tmp_path, document).episodes
    (other,) = _imported(tmp_path / "text", text).episodes
    assert read_evaluation(one.evaluation, "") == read_evaluation(other.evaluation, "")


def test_a_house_is_made_to_fit_and_the_lint_finds_nothing(tmp_path: Path) -> None:
    path = write(tmp_path, [episode(0), episode(1)])
    metadata = write_metadata(tmp_path, 0, 1)
    arguments = ["episodes", "import", "partnr-episodes", str(path), "--fit"]
    out = tmp_path / "out"
    assert main([*arguments, "--metadata", str(metadata), "-o", str(out)]) == 0
    files = sorted(p for p in out.glob("*.json") if p.name != "import_report.json")
    assert [p.name for p in files] == ["val-0.json", "val-1.json"]
    for file in files:
        assert Linter().lint(file).findings == ()
    made = json.loads(files[0].read_text(encoding="utf-8"))
    assert made["source"]["fitted"] is True
    assert made["furniture"] == {
        "fridge_1": {"open": True},
        "table_0": {"states": {"clean": False}},
    }
    first = {p.name: p.read_bytes() for p in out.rglob("*.json")}
    assert main([*arguments, "--metadata", str(metadata), "-o", str(out)]) == 0
    assert {p.name: p.read_bytes() for p in out.rglob("*.json")} == first


def test_what_waits_for_a_scene_is_a_warning(tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = write(tmp_path, [episode(0)])
    metadata = write_metadata(tmp_path, 0)
    words = ["episodes", "import", "partnr-episodes", str(path), "--metadata", str(metadata)]
    assert main([*words, "-o", str(out)]) == 0
    (finding,) = Linter().lint(out / "val-0.json").findings
    assert finding.rule is Rule.NEEDS_SCENE
    assert "102" in finding.reason
    report = json.loads((out / "import_report.json").read_text(encoding="utf-8"))
    assert report["needs_scene"] == {"102": ["val-0"]}


def test_records_name_what_they_can_without_metadata(tmp_path: Path) -> None:
    document = episode(0)
    document["evaluation_propositions"] = [
        proposition("is_in_room", object_handles=[CUP], room_ids=["bedroom_0"])
    ]
    for name in ("evaluation_proposition_dependencies", "evaluation_constraints"):
        document[name] = []
    result = import_partnr_episodes([write(tmp_path, [document])], 0, fit=True)
    (made,) = result.episodes
    assert next(o for o in made.objects if o.name == "cup_0").parent == "table_0"
    assert made.source is not None
    assert made.source.not_taken == ("1 objects of clutter, whose classes the file does not say",)


def test_annotators_texts_replace_an_evaluation_or_skip_it(tmp_path: Path) -> None:
    path = write(tmp_path, [episode(0), episode(1)])
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "episode_0.py").write_text(
        'instruction = """\nCup to the shelves,\nthen clean it.\n"""\n'
        "# PROPOSITIONS\npropositions = [\n"
        '    is_on_top(["cup_0"], ["shelves_4"]),\n    is_clean(["cup_0"]),\n]\n'
        "temporal_groups = [\n    [0],\n    [1],\n]\ntie_constraints = [\n]\n"
        'exclude_final_constraint = [0]\nskip_episode = False\nreason = ""\n',
        encoding="utf-8",
    )
    (texts / "episode_1.py").write_text(
        'skip_episode = True\nreason = "the cup is glued on"\n', encoding="utf-8"
    )
    result = import_partnr_episodes(
        [path], 0, metadata=write_metadata(tmp_path, 0, 1), corrections=texts
    )
    (made,) = result.episodes
    assert made.instruction == "Cup to the shelves, then clean it."
    evaluation = read_evaluation(made.evaluation, "")
    assert (evaluation.edges, evaluation.terminal) == (((0, 1),), {1})
    (fault,) = result.left_out
    assert fault.reason == "corrections.skip_episode: the cup is glued on"


@pytest.mark.parametrize(
    ("more", "field", "words"),
    [
        ({"evaluation_propositions": ["is_on_top(["]}, "evaluation_propositions.0", "line 1"),
        (
            {"evaluation_propositions": ['__import__("os")']},
            "evaluation_propositions.0",
            "not one of",
        ),
        ({"evaluation_propositions": [7]}, "evaluation_propositions.0", "neither"),
        ({"evaluation_propositions": "is_clean"}, "evaluation_propositions", "not a list"),
        (
            {"evaluation_propositions": [proposition("is_clean", object_handles=["zz_:0000"])]},
            "evaluation_propositions.0.args.object_handles.0",
            "does not say what 'zz_:0000' is",
        ),
        (
            {"evaluation_propositions": [proposition("is_clean", colour="red")]},
            "evaluation_propositions.0.args.colour",
            "no such argument",
        ),
        (
            {"evaluation_propositions": ['is_clustered(["cup_0"], ["bowl_0"], number=[2, 1])']},
            "evaluation_propositions.0.args.number",
            "not in our language",
        ),
        (
            {
                "evaluation_proposition_dependencies": [
                    {
                        "proposition_indices": [0],
                        "depends_on": [1],
                        "relation_type": "before_satisfied",
                    }
                ]
            },
            "evaluation_proposition_dependencies.0.relation_type",
            "before_satisfied",
        ),
        (
            {"evaluation_constraints": [{"type": "os.system", "args": {}}]},
            "evaluation_constraints.0",
            "not a constraint",
        ),
        (
            {"evaluation_constraints": ["TemporalConstraint([[0, 1]], n_propositions=9)"]},
            "evaluation_constraints.0.args.n_propositions",
            "there are 4",
        ),
        (
            {"evaluation_constraints": ["TemporalConstraint([[0, 1], [1, 0]])"]},
            "evaluation.constraints.0",
            "in a cycle",
        ),
        ({"rigid_objs": [["aa11", [[float("1e9")] * 4] * 4]]}, "rigid_objs", "not a place"),
        ({"rigid_objs": []}, "rigid_objs", "has no pose of cup_0"),
        ({"instruction": ""}, "instruction", "at least 1"),
    ],
)
def test_what_cannot_be_taken_over_is_listed_with_its_field(
    more: dict[str, object], field: str, words: str, tmp_path: Path
) -> None:
    reason = _reason(tmp_path, **more)
    assert reason.startswith(f"{field}: ")
    assert words in reason


def test_every_entry_is_an_episode_or_a_fault(tmp_path: Path) -> None:
    entries: list[Any] = [
        episode(0),
        episode(0),
        episode(1, evaluation_propositions=[]),
        episode(2, evaluation_propositions=["eval(1)"]),
        {"episode_id": "x"},
        None,
        episode(3, name_to_receptacle={CUP: f"{TABLE}|r"}),
    ]
    for fit in (False, True):
        path = write(tmp_path, entries)
        result = import_partnr_episodes(
            [path], 0, fit=fit, metadata=write_metadata(tmp_path, 0, 1, 2, 3)
        )
        assert result.read == {"val.json.gz": 7}
        assert len(result.episodes) + len(result.left_out) == 7
        assert all(fault.reason for fault in result.left_out)
        report = result.report
        assert report["episodes"] == len(result.episodes)
        assert {item.episode_id for item in result.without_goal} == {"val-1"}


def test_the_same_file_twice_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, [episode(0)])
    with pytest.raises(FileError, match="given already"):
        import_partnr_episodes([path, path], 0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"\xff\xfe", mtime=0),
        gzip.compress(b"[1]", mtime=0),
        gzip.compress(b'{"episodes": 3}', mtime=0),
        gzip.compress(b'{"episodes": [NaN]}', mtime=0),
        gzip.compress(b"[" * 200_000, mtime=0),
        gzip.compress(b'{"episodes": []}', mtime=0)[:-6],
    ],
)
def test_what_is_no_episode_file_is_one_error(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "val.json.gz"
    path.write_bytes(content)
    with pytest.raises(FileError) as caught:
        import_partnr_episodes([path], 0)
    assert str(path) in str(caught.value)


def test_a_broken_metadata_file_is_reported_with_its_name(tmp_path: Path) -> None:
    metadata = tmp_path / "metadata"
    metadata.mkdir()
    (metadata / "0.json").write_text('{"recep_to_handle": [1]}', encoding="utf-8")
    path = write(tmp_path, [copy.deepcopy(episode(0))])
    result = import_partnr_episodes([path], 0, metadata=metadata)
    (fault,) = result.left_out
    assert "0.json: recep_to_handle" in fault.reason
