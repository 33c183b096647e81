"""What an evaluation may not say: one case a lint.

PARTNR-D17, PARTNR-D25, PARTNR-D30, PARTNR-C15.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.evaluation.entity_checks import check_entities, facts_of_episode, facts_of_state
from planner.evaluation.language import read_evaluation
from planner.evaluation.task import DependencyMode, GateRelation, Predicate, TieKind
from planner.world.catalogue import default_catalogue
from planner.world.episode import read_episode
from planner.world.errors import FileError
from planner.world.house_checks import load_house
from planner.world.share import config_dir

ON = {"function_name": "is_on_top", "args": {"objects": ["cup_0"], "receptacles": ["table_0"]}}
NEAR = {
    "function_name": "is_next_to",
    "args": {"entities_a": ["cup_0", "cup_1"], "entities_b": ["book_0"]},
}


def with_args(entry, **args):
    return {**entry, "args": {**entry["args"], **args}}


def document(*propositions, **more):
    return {"propositions": list(propositions or (ON, NEAR)), **more}


def depends(gated, heads, relation="after_satisfied", **more):
    return {"proposition_indices": gated, "depends_on": heads, "relation_type": relation, **more}


def constraint(kind, **more):
    return {"type": kind, **more}


SAME = "SameArgConstraint"
TERMINAL = "TerminalSatisfactionConstraint"
INSIDE = {
    "function_name": "is_inside",
    "args": {"objects": ["plate_0"], "receptacles": ["table_0"]},
}
BROKEN = {
    "nothing at all": (None, "evaluation", "valid dictionary"),
    "no propositions": ({"propositions": []}, "evaluation.propositions", "at least 1"),
    "unknown field": (document(goal=1), "evaluation.goal", "not permitted"),
    "unknown predicate": (
        document({"function_name": "is_left_of", "args": {}}),
        "evaluation.propositions.0.function_name",
        "is_left_of",
    ),
    "missing list": (
        document({"function_name": "is_on_top", "args": {"objects": ["cup_0"]}}),
        "evaluation.propositions.0.args.receptacles",
        "required",
    ),
    "empty list": (
        document(with_args(ON, objects=[])),
        "evaluation.propositions.0.args.objects",
        "at least 1",
    ),
    "listed twice": (
        document(ON, with_args(NEAR, entities_a=["cup_0", "cup_0"])),
        "evaluation.propositions.1.args.entities_a",
        "'cup_0' is listed twice",
    ),
    "a list that is a name": (
        document(with_args(ON, objects="cup_0")),
        "evaluation.propositions.0.args.objects",
        "tuple",
    ),
    "number is too large": (
        document(ON, with_args(NEAR, number=3)),
        "evaluation.propositions.1.args.number",
        "3 of a list of 2 can never be met",
    ),
    "PARTNR-C9: lists swapped": (
        document(with_args(NEAR, entities_a=["book_0"], entities_b=["cup_0", "cup_1"], number=2)),
        "evaluation.propositions.0.args.number",
        "2 of a list of 1",
    ),
    "number is no count": (
        document(with_args(ON, number=0)),
        "evaluation.propositions.0.args.number",
        "greater than or equal to 1",
    ),
    "number is a word": (
        document(with_args(ON, number="1")),
        "evaluation.propositions.0.args.number",
        "valid integer",
    ),
    "threshold is negative": (
        document(with_args(NEAR, l2_threshold=-1.0)),
        "evaluation.propositions.0.args.l2_threshold",
        "greater than or equal to 0",
    ),
    "threshold is not finite": (
        document(with_args(NEAR, l2_threshold=float("nan"))),
        "evaluation.propositions.0.args.l2_threshold",
        "finite",
    ),
    "the same said twice": (
        document(with_args(ON, is_same_b=True, arg_match=False)),
        "evaluation.propositions.0.args.arg_match",
        "not permitted",
    ),
    "too many clusters": (
        document(
            {
                "function_name": "is_clustered",
                "args": {"entities": [[f"cup_{i}" for i in range(30)]] * 3},
            }
        ),
        "evaluation.propositions.0.args.entities",
        "27000 ways",
    ),
    "index of a gated one": (
        document(dependencies=[depends([0, 2], [1])]),
        "evaluation.dependencies.0.proposition_indices.1",
        "there is no proposition 2",
    ),
    "index of a head": (
        document(dependencies=[depends([0], [7])]),
        "evaluation.dependencies.0.depends_on.0",
        "there is no proposition 7",
    ),
    "negative index": (
        document(dependencies=[depends([-1], [0])]),
        "evaluation.dependencies.0.proposition_indices.0",
        "greater than or equal to 0",
    ),
    "no head": (
        document(dependencies=[depends([0], [])]),
        "evaluation.dependencies.0.depends_on",
        "at least 1",
    ),
    "unknown relation": (
        document(dependencies=[depends([0], [1], "before_satisfied")]),
        "evaluation.dependencies.0.relation_type",
        "after_satisfied",
    ),
    "dependencies in a circle": (
        document(dependencies=[depends([0], [1]), depends([1], [0])]),
        "evaluation.dependencies",
        "0 -> 1 -> 0",
    ),
    "a dependency on itself": (
        document(dependencies=[depends([1], [1])]),
        "evaluation.dependencies",
        "1 -> 1",
    ),
    "index of an edge": (
        document(constraints=[constraint("TemporalConstraint", edges=[[0, 2]])]),
        "evaluation.constraints.0.edges.0.1",
        "there is no proposition 2",
    ),
    "index of a group": (
        document(constraints=[constraint("TemporalConstraint", groups=[[0], [3]])]),
        "evaluation.constraints.0.groups.1.0",
        "there is no proposition 3",
    ),
    "order in a circle": (
        document(constraints=[constraint("TemporalConstraint", edges=[[0, 1], [1, 0]])]),
        "evaluation.constraints.0",
        "0 -> 1 -> 0",
    ),
    "order in a circle over two constraints": (
        document(
            constraints=[
                constraint("TemporalConstraint", edges=[[0, 1]]),
                constraint("TemporalConstraint", groups=[[1], [0]]),
            ]
        ),
        "evaluation.constraints.1",
        "0 -> 1 -> 0",
    ),
    "no order": (
        document(constraints=[constraint("TemporalConstraint")]),
        "evaluation.constraints.0",
        "either edges or groups",
    ),
    "index of a tie": (
        document(constraints=[constraint(SAME, proposition_indices=[0, 5], arg_indices=[0, 0])]),
        "evaluation.constraints.0.proposition_indices.1",
        "there is no proposition 5",
    ),
    "a proposition tied to itself": (
        document(constraints=[constraint(SAME, proposition_indices=[0, 0], arg_indices=[0, 1])]),
        "evaluation.constraints.0.proposition_indices",
        "listed twice",
    ),
    "arguments that cannot be filled up": (
        document(
            ON,
            ON,
            NEAR,
            constraints=[constraint(SAME, proposition_indices=[0, 1, 2], arg_indices=[0, 1])],
        ),
        "evaluation.constraints.0.arg_indices",
        "2 arguments for 3 propositions",
    ),
    "an argument that is not there": (
        document(constraints=[constraint(SAME, proposition_indices=[0, 1], arg_indices=[1, 2])]),
        "evaluation.constraints.0.arg_indices.1",
        "is_next_to has 2 argument(s)",
    ),
    "an argument by an unknown name": (
        document(constraints=[constraint(SAME, proposition_indices=[0], arg_names=["rooms"])]),
        "evaluation.constraints.0.arg_indices.0",
        "no argument 'rooms'",
    ),
    "index of a terminal one": (
        document(constraints=[constraint(TERMINAL, proposition_indices=[4])]),
        "evaluation.constraints.0.proposition_indices.0",
        "there is no proposition 4",
    ),
    "index of an excluded one": (
        document(exclude_final_constraint=[4]),
        "evaluation.exclude_final_constraint.0",
        "there is no proposition 4",
    ),
    "terminal and excluded": (
        document(
            exclude_final_constraint=[0],
            constraints=[constraint(TERMINAL, proposition_indices=[1])],
        ),
        "evaluation.exclude_final_constraint",
        "contradicts",
    ),
    "unknown constraint": (
        document(constraints=[constraint("Always")]),
        "evaluation.constraints.0",
        "Always",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_named_with_file_field_and_reason(case) -> None:
    text, field, reason = BROKEN[case]
    with pytest.raises(FileError) as caught:
        read_evaluation(text, "e.json")
    assert caught.value.file == "e.json"
    assert caught.value.field == field
    assert reason in caught.value.reason


CUPS = {"objects": ["cup_0"]}
UNFIT = {
    "missing entity": (ON, "objects", "no entity 'cup_0'"),
    "missing receptacle": (
        with_args(ON, objects=["plate_0"], receptacles=["table_0", "table_99"]),
        "receptacles",
        "no entity 'table_99'",
    ),
    "no affordance, PARTNR-C4": (
        {"function_name": "is_clean", "args": {"objects": ["plate_0"]}},
        "objects",
        "plate_0 is not cleanable",
    ),
    "not hollow": (
        INSIDE,
        "receptacles",
        "table_0 has no inside",
    ),
    "no room": (
        {"function_name": "is_in_room", "args": {"objects": ["plate_0"], "rooms": ["table_0"]}},
        "rooms",
        "table_0 is not a room",
    ),
    "a room on a table": (
        with_args(ON, objects=["kitchen_0"]),
        "objects",
        "kitchen_0 is a room",
    ),
    "an agent on a table": (with_args(ON, objects=["agent_0"]), "objects", "agent_0 is an agent"),
    "a floor on a table": (
        with_args(ON, objects=["floor_kitchen_0"]),
        "objects",
        "floor_kitchen_0 is a floor",
    ),
    "a floor inside": (
        with_args(INSIDE, receptacles=["floor_kitchen_0"]),
        "receptacles",
        "floor_kitchen_0 is a floor",
    ),
    "in a cluster": (
        {"function_name": "is_clustered", "args": {"*args": [["plate_0"], ["plate_1"]]}},
        "entities.1",
        "no entity 'plate_1'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNFIT)
def test_check_15_entities_that_cannot_be_meant(make_lab, case) -> None:
    entry, field, reason = UNFIT[case]
    lab = make_lab(["plate_0"])
    good = with_args(ON, objects=["plate_0"])
    evaluation = read_evaluation(document(good, entry), "e.json")
    with pytest.raises(FileError) as caught:
        check_entities(evaluation, facts_of_state(lab.state(), lab.house), "e.json")
    assert caught.value.field == f"evaluation.propositions.1.args.{field}"
    assert reason in caught.value.reason


def test_all_words_are_understood() -> None:
    text = document(
        with_args(ON, arg_match=True),
        {"function_name": "is_in_room", "args": {**CUPS, "rooms": ["h_0"], "is_same_room": True}},
        with_args(NEAR, number=2, l2_threshold=1, is_same_b=True),
        {"function_name": "is_clustered", "args": {"*args": [["a_0"], ["b_0", "c_0"]]}},
        *({"function_name": p, "args": CUPS} for p in Predicate if "clean" in p or "floor" in p),
        dependencies=[depends([2], [0, 1], "after_unsatisfied", dependency_mode="any")],
        constraints=[
            constraint("TemporalConstraint", temporal_groups=[[0, 1], [2]]),
            constraint("TemporalConstraint", graph_edges=[[2, 3]]),
            constraint(SAME, proposition_indices=[0, 2], arg_names=["objects", "entities_b"]),
            constraint("DifferentArgConstraint", proposition_indices=[0, 1, 2], arg_index=[1, 1]),
            constraint(SAME, proposition_indices=[3, 0], arg_names=["*args_1", "receptacles"]),
        ],
        exclude_final_constraint=[0],
    )  # fmt: skip
    found = read_evaluation(json.loads(json.dumps(text)), "e.json")
    assert [p.is_same for p in found.propositions[:3]] == [True, True, True]
    assert found.propositions[2].number == 2
    assert found.propositions[2].threshold_m == 1.0
    assert found.propositions[3].lists == (("a_0",), ("b_0", "c_0"))
    assert found.dependencies[0].relation is GateRelation.AFTER_UNSATISFIED
    assert found.dependencies[0].mode is DependencyMode.ANY
    assert found.edges == ((0, 2), (1, 2), (2, 3))
    assert [tie.kind for tie in found.ties] == [TieKind.SAME, TieKind.DIFFERENT, TieKind.SAME]
    assert found.ties[0].members == ((0, 0), (2, 1))
    assert found.ties[1].members == ((0, 1), (1, 1), (2, 1))
    assert found.ties[2].members == ((3, 1), (0, 1))
    assert 0 not in found.terminal
    assert found.terminal == set(range(1, len(found.propositions)))


def test_what_is_terminal() -> None:
    assert read_evaluation(document(), "e").terminal == {0, 1}
    none = [constraint(TERMINAL, proposition_indices=[])]
    assert read_evaluation(document(constraints=none), "e").terminal == set()
    one = [constraint(TERMINAL, proposition_indices=[1])]
    assert read_evaluation(document(constraints=one), "e").terminal == {1}


def test_a_chain_of_five_hundred_is_no_trouble() -> None:
    edges = [[i, i + 1] for i in range(499)]
    text = document(*[ON] * 500, constraints=[constraint("TemporalConstraint", edges=edges)])
    assert len(read_evaluation(text, "e").edges) == 499


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)
FIELDS = st.fixed_dictionaries(
    {"propositions": st.lists(st.sampled_from([ON, NEAR]) | JSON, max_size=4)},
    optional={
        "dependencies": st.lists(st.just(depends([0], [1])) | JSON, max_size=2) | JSON,
        "constraints": st.lists(
            JSON
            | st.builds(lambda x: constraint("TemporalConstraint", edges=x), JSON)
            | st.builds(lambda x: constraint(SAME, proposition_indices=[0], arg_indices=x), JSON),
            max_size=3,
        ),
    },
)


@given(JSON | FIELDS)
def test_any_document_is_read_or_refused_with_one_error(text) -> None:
    with contextlib.suppress(FileError):
        read_evaluation(text, "e.json")


EPISODES = sorted(
    path
    for path in (config_dir() / "episodes").rglob("*.json")
    if path.parent.name not in {"houses", "recipes"} and path.name != "import_report.json"
)


@pytest.mark.parametrize("path", EPISODES, ids=lambda path: path.stem)
def test_every_shipped_episode_asks_for_what_there_is(path) -> None:
    episode = read_episode(path)
    house = load_house(episode.house)
    evaluation = read_evaluation(episode.evaluation, path)
    check_entities(evaluation, facts_of_episode(episode, house, default_catalogue()), path)


def test_furniture_of_an_episode_has_its_affordances(small_house, small_episode) -> None:
    facts = facts_of_episode(small_episode, small_house, default_catalogue())
    assert "cleanable" in facts["table_0"].affordances
    assert facts["cabinet_0"].hollow
    assert facts["floor_kitchen_0"].floor
    assert "fillable" in facts["cup_0"].affordances
