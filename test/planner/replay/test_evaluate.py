"""`planner evaluate`: bags, logs and folders; agreement with the live verdict; bad recordings."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli import main
from planner.evaluation.trace import read_traces
from planner.recorder.bag_file import GAP
from planner.recorder.bag_writer import BagWriter, Topic
from planner.recorder.topic_counts import Gap
from planner.replay.judging import judge
from planner.replay.runs import Request
from planner.replay.states import SCHEMA_NAME, read_states, schema_text
from planner.world.episode import Criteria
from planner.world.errors import FileError
from planner.world.geometry import Pose

SCHEMAS = Path(__file__).resolve().parents[3] / "docs" / "schema"


def evaluate(capsys, *words) -> tuple[int, str, str]:
    status = main(["evaluate", *map(str, words)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_bag_a_log_and_the_run_itself_give_one_verdict(film, capsys) -> None:
    film.solved()
    bag, log = film.bag(), film.log()
    status, out, err = evaluate(capsys, bag, log, "--episode", film.path)
    lines = out.splitlines()
    assert (status, err) == (0, "")
    assert lines[0].split()[:4] == ["episode", "verdict", "complete", "sim_steps"]
    assert " ".join(lines[1].split()[:8]) == "small success 1.00 20 strict boxes the same"
    assert " ".join(lines[2].split()[:7]) == "small success 1.00 20 strict boxes none"
    assert lines[3].startswith("success: 1  [0.1581, 1] clopper_pearson  n=2")
    (from_bag,), (from_log,) = (
        list(judge(path, Request(episode=str(film.path)))) for path in (bag, log)
    )
    assert from_bag.verdict == from_log.verdict == film.verdict()
    assert from_bag.agrees is True
    assert from_log.agrees is None


def test_a_failure_is_explained(film, capsys) -> None:
    film.put("apple_0", 0.2).put("cup_0", -0.2)
    status, out, _ = evaluate(capsys, film.bag(), "--episode", film.path)
    assert status == 1
    assert 'why small: "apple_0 on top of table_1" was done before "cup_0' in out


@pytest.mark.needs("papers")
@pytest.mark.parametrize("word", ["compat", "partnr_v0"])
def test_compat_is_named(film, capsys, word) -> None:
    bag = film.solved().bag()
    status, out, _ = evaluate(capsys, bag, "--episode", film.path, "--mode", word, "--json")
    (result,) = json.loads(out)["results"]
    assert (status, result["mode"]) == (0, "partnr_v0")
    # The run was judged by other rules.
    assert result["agrees_with_live"] is None


def test_json_has_everything(film, capsys) -> None:
    bag = film.put("cup_0").bag()
    status, out, _ = evaluate(capsys, bag, "--episode", film.path, "--json")
    document = json.loads(out)
    (result,) = document["results"]
    assert (status, document["version"], document["errors"]) == (1, 1, [])
    assert (result["percent_complete"], result["variant"]) == (0.5, "boxes")
    assert result["agrees_with_live"] is True
    assert result["propositions"][1]["reason"] == "never"
    assert result["propositions"][0]["first_step"] == 10
    assert document["summary"][1]["metric"] == "percent_complete"
    assert document["summary"][1]["n"] == 1


def test_steps_count_from_the_instruction_as_the_live_judge_counted(film, messages) -> None:
    film.solved()
    (whole,) = judge(film.bag("whole", live=False), Request(episode=str(film.path)))
    last = film.states[-1]
    assert whole.verdict.sim_steps == last.step > 3
    given_s = last.stamp_s - 3 / 30
    live = messages.verdict(whole.verdict, last.stamp_s, start_s=given_s)
    bag = film.bag("live", ("/evaluation/result", live), live=False)
    (found,) = judge(bag, Request(episode=str(film.path), traced=True))
    assert (found.verdict.sim_steps, found.live.sim_steps, found.trace.end.sim_steps) == (3, 3, 3)
    assert found.agrees


def test_a_live_verdict_that_differs_is_reported(film, messages, capsys) -> None:
    film.solved()
    wrong = messages.verdict(film.verdict(), 9.0, percent_complete=0.5)
    bag = film.bag("bag", ("/evaluation/result", wrong), live=False)
    status, out, _ = evaluate(capsys, bag, "--episode", film.path)
    assert status == 2
    assert "DIFFERENT" in out


def test_what_happened_after_the_verdict_is_not_part_of_the_run(film, messages, capsys) -> None:
    film.solved()
    verdict = messages.verdict(film.verdict(), 9.0)
    late = film.put("cup_0", z=0.0).states.pop()
    told = [("/evaluation/result", verdict), ("/world/state", messages.world(late))]
    status, out, _ = evaluate(capsys, film.bag("b", *told, live=False), "--episode", film.path)
    assert (status, "the same" in out) == (0, True)


def test_of_a_bag_the_last_run_counts(film, messages) -> None:
    first = film.put("apple_0", 0.2).states
    film.states = first[:1]
    again = film.solved().states
    film.states = first
    bag = film.bag("b", *(("/world/state", messages.world(s)) for s in again), live=False)
    (found,) = judge(bag, Request(episode=str(film.path)))
    assert found.verdict.success


def test_a_folder_is_all_that_is_in_it(film, capsys) -> None:
    film.solved()
    film.bag("runs/one")
    film.bag("runs/deeper/two")
    film.log("runs/three.jsonl")
    (film.folder / "runs" / "notes.jsonl").write_text("{}\n")
    (film.folder / "runs" / "broken").mkdir()
    (film.folder / "runs" / "broken" / "x.mcap").write_bytes(b"nothing")
    status, out, err = evaluate(capsys, film.folder / "runs", "--episode", film.path)
    assert status == 2
    assert out.count("small  ") == 3
    assert err.count("error:") == 1
    assert "x.mcap: is no MCAP file" in err
    status, _, err = evaluate(capsys, film.folder / "houses")
    assert (status, "has no bag and no state log" in err) == (2, True)
    status, _, err = evaluate(capsys, film.folder / "nowhere")
    assert (status, "no such file or folder" in err) == (2, True)


def test_a_log_may_hold_several_episodes(film) -> None:
    film.solved()
    film.states += [film.states[0], *film.states[1:2]]
    found = list(judge(film.log(), Request(episode=str(film.path))))
    assert [f.verdict.percent_complete for f in found] == [1.0, 0.5]


def two_place(messages) -> list[tuple[str, object]]:
    """What a bag says of two agents that put a thing each onto the table."""
    place = "Place[cup_0, on, table_1, None, None]"
    return [
        ("/planner/trace", messages.decision(0.0, ["agent_0", "agent_1"], [place, ""], 1)),
        ("/skills/results", messages.skill("agent_0", place, 1 / 3)),
        ("/skills/results", messages.skill("agent_1", "Pick[apple_0]", 1 / 3)),
        (
            "/skills/results",
            messages.skill("agent_1", "Place[apple_0, on, table_1, None, None]", 2 / 3),
        ),
        ("/skills/results", messages.skill("agent_1", "Pick[book_0]", 99.0)),
    ]


def test_the_same_trace_comes_from_a_bag(film, messages, capsys) -> None:
    film.solved()
    path = film.folder / "traces.jsonl"
    words = ("--episode", film.path, "--traces", path, "--metrics")
    status, out, _ = evaluate(capsys, film.bag("b", *two_place(messages)), *words)
    assert status == 0
    assert "planning_cycles: 1  n=1" in out
    (trace,) = read_traces(path)
    assert [(c.agent, c.started_step, c.ended_step) for c in trace.calls] == [
        ("agent_0", 0, 10),
        ("agent_1", 0, 10),
        ("agent_1", 10, 20),
    ]
    assert [(d.model, d.prompt_tokens) for d in trace.decisions] == [("m", 7)]
    assert [p.percent_complete for p in trace.progress] == [0.0, 0.5, 1.0]


@pytest.mark.needs("papers")
def test_a_bag_is_measured_by_the_papers(film, messages, capsys) -> None:
    film.solved()
    bag = film.bag("b", *two_place(messages))
    _, out, _ = evaluate(capsys, bag, "--episode", film.path, "--metrics")
    assert "task_offloading: 0.5  n=1" in out
    assert "extraneous_effort: 0  n=1" in out
    assert "weighted_success: 1  n=1" in out


# Bad recordings: one error each, with the file, the episode and the field


def refused(capsys, film, path, *words) -> str:
    status, out, err = evaluate(capsys, path, "--episode", film.path, *words)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert str(film.folder) in err
    return err


def test_a_bag_without_ground_truth(film, messages, capsys) -> None:
    # A real robot's: it has a verdict at most.
    verdict, film.states = film.solved().verdict(), []
    bag = film.bag("b", ("/evaluation/result", messages.verdict(verdict, 9.0)), live=False)
    assert "/world/state: has no states of the world" in refused(capsys, film, bag)


def test_a_bag_that_was_cut_short_is_judged_only_if_asked(film, capsys) -> None:
    bag = film.solved().bag(live=False, close=False)
    mcap = next(bag.glob("*.mcap"))
    mcap.write_bytes(mcap.read_bytes()[:-60])
    error = refused(capsys, film, bag)
    assert "/world/state" in error
    assert "cut short" in error


def test_a_world_that_was_only_perceived_is_judged_as_believed(film, messages, capsys) -> None:
    film.solved()
    told = [
        ("/world_graph", messages.graph(state, 1000.0 + n)) for n, state in enumerate(film.states)
    ]
    film.states = []
    bag = film.bag("b", *told, live=False)
    (found,) = judge(bag, Request(episode=str(film.path)))
    assert (found.verdict.success, found.verdict.variant) == (True, "perceived")
    # Thirtieths of a second from the first graph.
    assert [p.first_step for p in found.verdict.propositions] == [30, 60]
    # The live judge of the robot came in time for all but the first graph.
    late = replace_steps(found.verdict, -30)
    live = messages.verdict(late, 1002.0, start_s=1001.0)
    again = film.bag("live", *told, ("/evaluation/result", live), live=False)
    (same,) = judge(again, Request(episode=str(film.path)))
    assert same.verdict.sim_steps == 30
    assert same.agrees is True
    status, _, err = evaluate(capsys, bag)
    assert (status, err.count("error:")) == (2, 1)
    assert "/world_graph: does not name its episode" in err


def test_a_memory_that_comes_back_begins_no_other_run_in_a_bag(film, messages) -> None:
    film.solved()
    layout, half, done = film.states
    # The layout before anything was seen, and what a memory tells that was killed: what its store
    # has, which is a little older, or the layout again.
    order = [
        (layout, 0.0), (layout, 1000.0), (half, 1001.0), (half, 1000.6), (layout, 0.0),
        (done, 1002.0),
    ]  # fmt: skip
    after = [(done, 1001.7), (layout, 0.0), (done, 1003.0)]
    told, later = (
        [("/world_graph", messages.graph(state, stamp_s)) for state, stamp_s in part]
        for part in (order, after)
    )
    film.states = []
    (alone,) = judge(film.bag("alone", *told, live=False), Request(episode=str(film.path)))
    assert [p.first_step for p in alone.verdict.propositions] == [30, 60]
    live = messages.verdict(alone.verdict, 1002.0, start_s=1000.0)
    bag = film.bag("live", *told, ("/evaluation/result", live), *later, live=False)
    (found,) = judge(bag, Request(episode=str(film.path)))
    assert found.agrees is True
    # What is no state is not missing either.
    assert found.gaps == ()


APPLE = Criteria(
    variables={"A": ("apple_0",), "T": ("table_1",)},
    success=(("ON", "A", "T"), ("CLOSE", "robot", "T")),
    reference_plan=(("PUT", "apple_7", "table_1"),),
    reference_calls=("Place[apple_0, on, table_1, None, None]",),
)


def asked(film, **fields) -> None:
    film.episode = film.episode.model_copy(update=fields)
    document = film.episode.model_dump(mode="json")
    film.path.write_text(json.dumps(document), encoding="utf-8")


def walk(film) -> None:
    last, table = film.states[-1], film.house.furniture_by_name["table_1"]
    pose = Pose.planar(table.x_m - 1.0, table.y_m)
    film.then({**last.entities, "agent_0": replace(last.entities["agent_0"], pose=pose)})


def test_criteria_are_judged_beside_the_propositions(film, messages, capsys) -> None:
    asked(film, criteria=APPLE)
    film.solved()
    told = ("/evaluation/result", messages.verdict(film.verdict(), 9.0, criteria="not met"))
    bag = film.bag("bag", told, live=False)
    status, out, _ = evaluate(capsys, bag, film.log(), "--episode", film.path)
    assert status == 0
    said = "small: criteria not met. At the end agent_0 is not close to table_1."
    assert out.splitlines()[3:5] == [said, said]
    assert "the same" in out.splitlines()[1]


def test_a_live_verdict_on_the_criteria_that_differs_is_reported(film, messages, capsys) -> None:
    asked(film, criteria=APPLE)
    walk(film.solved())
    told = ("/evaluation/result", messages.verdict(film.verdict(), 9.0, criteria="not met"))
    status, out, _ = evaluate(capsys, film.bag("bag", told, live=False), "--episode", film.path)
    assert (status, "DIFFERENT" in out) == (2, True)
    assert "small: criteria met." in out


def test_a_task_of_criteria_alone_is_judged(film, capsys) -> None:
    asked(film, criteria=APPLE, evaluation=None)
    film.put("apple_0", 0.2)
    words = ("--episode", film.path, "--json", "--metrics")
    status, out, _ = evaluate(capsys, film.log(), *words)
    (result,) = json.loads(out)["results"]
    assert (status, result["success"], result["percent_complete"]) == (1, False, 0.5)
    assert result["explanation"] == "At the end agent_0 is not close to table_1."
    walk(film)
    status, out, _ = evaluate(capsys, film.log(), *words)
    document = json.loads(out)
    assert (status, document["results"][0]["success"]) == (0, True)
    assert document["results"][0]["criteria"] == {
        "success": True,
        "share": 1.0,
        "first_step": 20,
        "entities": {"A": "apple_0", "T": "table_1"},
        "explanation": "",
    }
    found = {row["metric"]: row for row in document["summary"]}
    assert found["success"]["value"] == 1.0


@pytest.mark.needs("papers")
def test_a_task_of_criteria_alone_is_measured(film, capsys) -> None:
    asked(film, criteria=APPLE, evaluation=None)
    film.put("apple_0", 0.2)
    walk(film)
    words = ("--episode", film.path, "--json", "--metrics")
    _, out, _ = evaluate(capsys, film.log(), *words)
    found = {row["metric"]: row for row in json.loads(out)["summary"]}
    assert found["criteria_success"]["value"] == 1.0
    # Nothing was done by a call in a log of states, and the ground truth has one.
    assert found["lcs_ratio"]["value"] == 0.0
    assert found["moving_distance"]["value"] > 0
    assert found["transport_rate"]["left_out"] == {"no propositions were given": 1}


def test_a_task_that_asks_for_nothing(film, capsys) -> None:
    asked(film, evaluation=None)
    assert "has no goal, so nothing can be judged" in refused(capsys, film, film.log())


def replace_steps(verdict, by: int):
    moved = tuple(replace(p, first_step=p.first_step + by) for p in verdict.propositions)
    return replace(verdict, sim_steps=verdict.sim_steps + by, propositions=moved)


def test_what_was_cut_short_can_be_judged_and_says_so(film, capsys) -> None:
    bag = film.solved().bag(live=False, close=False)
    first = evaluate(capsys, bag, "--episode", film.path, "--partial")
    assert first[0] == 0
    assert "20 (cut short)" in first[1]
    # Completing the file lost nothing of that: judged again it is still cut short.
    assert evaluate(capsys, bag, "--episode", film.path, "--partial") == first
    refusals = [refused(capsys, film, bag) for _ in range(2)]
    assert refusals[0] == refusals[1]
    assert "cut short at step 20" in refusals[0]


def test_a_killed_recorder_after_the_verdict_leaves_a_whole_run(film, capsys) -> None:
    status, out, _ = evaluate(capsys, film.solved().bag(close=False), "--episode", film.path)
    assert (status, "the same" in out) == (0, True)
    assert out.startswith(f"missing in {film.folder / 'bag'}: its end: the bag was cut short")


def test_what_a_full_disk_cost_is_said_before_the_verdict(film, capsys) -> None:
    bag = film.solved().bag()
    writer = BagWriter(film.folder / "noted")
    second = 10**9
    for gap in (
        Gap("/tf", 2 * second, 12 * second, 51_000, "No space left on device"),
        Gap("/rosout", 1 * second, 13 * second, 954, "No space left on device"),
        Gap("/clock", 20 * second, 21 * second, 3),
    ):
        writer.add_record(GAP, gap.as_record())
    writer.close()
    # A second file of the same bag.
    (film.folder / "noted" / "noted_0.mcap").rename(bag / "bag_1.mcap")
    status, out, _ = evaluate(capsys, bag, "--episode", film.path)
    lines = out.splitlines()
    assert (status, "success" in lines[3], "the same" in lines[3]) == (0, True, True)
    never = "3 messages of /clock between 1970-01-01T00:00:20.000+00:00 and 1970-01-01T00:00:21.000"
    unwritten = (
        "51954 messages of 2 topics between 1970-01-01T00:00:01.000+00:00 and "
        "1970-01-01T00:00:13.000+00:00: No space left on device"
    )
    said = [f"{never}+00:00: they never arrived", unwritten]
    assert lines[:2] == [f"missing in {bag}: {line}" for line in said]
    _, document, _ = evaluate(capsys, bag, "--episode", film.path, "--json")
    assert json.loads(document)["results"][0]["missing"] == said
    # So do the others that read it.
    assert main(["report", str(bag), "-o", str(film.folder / "report")]) == 0
    assert "51957 messages of 3 topics are missing" in capsys.readouterr().out
    assert main(["export", str(bag), "--to", "csv", "-o", str(film.folder / "tables")]) == 0
    assert said[1] in capsys.readouterr().err


def test_bytes_that_are_wrong_in_the_middle(film, capsys) -> None:
    bag = film.solved().bag()
    mcap = next(bag.glob("*.mcap"))
    data = bytearray(mcap.read_bytes())
    data[200:400] = bytes(200)
    mcap.write_bytes(bytes(data))
    assert ".mcap" in refused(capsys, film, bag)


@pytest.mark.parametrize("recording", ["bag", "log"])
@pytest.mark.parametrize("x", [math.nan, math.inf, 1e30])
def test_a_pose_that_is_no_place(film, capsys, recording, x) -> None:
    last = film.put("cup_0").states[-1]
    broken = replace(last.entities["cup_0"], pose=Pose.planar(x, 0.0))
    film.then({**last.entities, "cup_0": broken})
    path = film.bag("b", live=False) if recording == "bag" else film.log()
    error = refused(capsys, film, path)
    assert "cup_0" in error or "line 4.changed.0.pose.position_m.0" in error


def test_a_bag_of_another_version_of_the_messages(
    film, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_topic = BagWriter.add_topic

    def add_older(writer: BagWriter, topic: Topic) -> int:
        text = topic.definition.replace("uint64 revision", "uint64 changes")
        return add_topic(writer, replace(topic, definition=text))

    monkeypatch.setattr(BagWriter, "add_topic", add_older)
    error = refused(capsys, film, film.solved().bag())
    assert "/world/state, message 0: has another type than expected" in error
    assert "revision" in error


def test_an_entity_that_the_goal_names_and_the_world_lacks(film, capsys) -> None:
    entities = dict(film.states[0].entities)
    del entities["apple_0"]
    film.states = [replace(film.states[0], entities=entities)]
    error = refused(capsys, film, film.log())
    assert "evaluation.propositions.1.args.objects: there is no entity 'apple_0'" in error


def test_an_episode_nobody_knows(film, capsys) -> None:
    film.states = [replace(film.states[0], episode_id="mine_7")]
    status, _, err = evaluate(capsys, film.log())
    assert (status, "episode mine_7, step 0: there is no episode 'mine_7'" in err) == (2, True)


def test_another_house(film, capsys) -> None:
    film.states = [replace(film.states[0], house="castle")]
    assert "is of house small, the recording of castle" in refused(capsys, film, film.log())


LOGS = {
    "empty": (lambda t: b"", "has no states"),
    "not JSON": (lambda t: b"{\n", "line 1: Invalid JSON"),
    "cut off": (lambda t: t[:-9], "line 4: is cut off"),
    "no world": (lambda t: t.partition(b"\n")[2], "line 1: expected the line"),
    "unknown field": (lambda t: t.replace(b'"step":10', b'"steps":10'), "line 3.step: Field"),
    "a word": (lambda t: t.replace(b'"step":10', b'"step":"10"'), "line 3.step: Input should"),
    "huge": (lambda t: t.replace(b'"step":10', b'"step":1' + b"0" * 50), "line 3.step: "),
    "deep": (lambda t: t + b"[" * 100_000 + b"\n", "line 5: Invalid JSON"),
    "version": (lambda t: t.replace(b'"version":1', b'"version":2'), "line 1.version: "),
    "not UTF-8": (lambda t: t.replace(b"cup_0", b"cup_\xff"), "line 2: Invalid JSON"),
    "gone twice": (
        lambda t: t.replace(b'"removed":[]', b'"removed":["ghost_0"]'),
        "line 2.removed: there is no entity 'ghost_0'",
    ),
}


@pytest.mark.parametrize("case", LOGS)
def test_a_broken_log(film, capsys, case) -> None:
    change, reason = LOGS[case]
    path = film.solved().log()
    path.write_bytes(change(path.read_bytes()))
    error = refused(capsys, film, path)
    assert reason in error
    # Which episode it is of, from its line `world` on.
    told = "episode small, " in error
    assert told is (case not in ("empty", "not JSON", "no world", "version"))


@pytest.mark.parametrize("held", [None, "cup_0"])
def test_an_older_log_has_one_hand(film, held) -> None:
    path = film.solved().log()
    world, first, *_ = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    for entity in first["changed"]:
        del entity["hands"]
        entity["holding"] = held if entity["kind"] == "agent" else None
    path.write_text("".join(json.dumps(line) + "\n" for line in (world, first)), encoding="utf-8")
    agents = [e for e in next(read_states(path)).entities.values() if e.kind == "agent"]
    assert agents
    assert {agent.hands for agent in agents} == {() if held is None else (held,)}


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused_with_one_error(tmp_path_factory, data) -> None:
    path = tmp_path_factory.mktemp("any") / "states.jsonl"
    path.write_bytes(data)
    try:
        states = list(read_states(path))
    except FileError as error:
        states = [str(error)]
    assert all(str(path) in s for s in states)


def test_the_published_schema_is_current() -> None:
    published = (SCHEMAS / SCHEMA_NAME).read_text(encoding="utf-8")
    assert published == schema_text(), "run: python -m planner.replay.states docs/schema"
