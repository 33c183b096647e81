"""A bag becomes traces for training: what its agents did, whoever decided it (EPM-2.7)."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from stage import Stage

from planner.cli import main
from planner.console.dispatcher import SessionRecord
from planner.planning.expert.expert import Expert
from planner.planning.planner import Task
from planner.replay.bag import Bag
from planner.training.traces.bag_run import PERSON, BagRecipe, make_bag_traces, traces_of_bag
from planner.training.traces.folder import LeakError, read_manifest, read_traces, shard_file
from planner.training.traces.record import BAG, RECORD, consents_of
from planner.training.traces.rules import TraceRules
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.house import House


class Person(Expert):
    """Somebody whose decisions no planner told."""

    @property
    def name(self) -> str:
        return "somebody"


@pytest.fixture(scope="module")
def persons_bag(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, asked: Episode
) -> Path:
    folder = tmp_path_factory.mktemp("person") / "bag"

    def person(task: Task, _tell: Callable[..., None]) -> Person:
        return Person(task)

    stage = Stage(folder, small_house, asked, make_planner=person)
    assert stage.play(stage.tell_world).verdict.success
    return folder


@pytest.fixture(scope="module")
def experts_bag(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, asked: Episode
) -> Path:
    folder = tmp_path_factory.mktemp("expert") / "bag"
    stage = Stage(folder, small_house, asked)
    assert stage.play(stage.tell_world).verdict.success
    return folder


@pytest.mark.slow
def test_calls_are_told_as_a_planner_would_have_said_them(
    experts_bag: Path, asked: Episode
) -> None:
    trace, other = traces_of_bag(Bag(experts_bag))
    assert (trace.agent, other.agent, trace.team) == ("agent_0", "agent_1", ("agent_0", "agent_1"))
    every = [m.content for m in Bag(experts_bag).messages(("/skills/results",))]
    done = [one for one in every if one.agent == "agent_0"]
    assert done
    assert len(trace.turns) == len(done) + 1
    assert trace.turns[-1].call == "Done[]"
    said = [turn.call.partition("[")[0] for turn in trace.turns[:-1]]
    assert said == [str(one.call).partition("[")[0] for one in done]
    assert not any("cup_0" in turn.call or "couch_0" in turn.call for turn in trace.turns)
    assert [turn.result for turn in trace.turns[:-1]] == [one.text for one in done]
    assert trace.instruction == asked.instruction
    assert (trace.reward, trace.percent_complete) == (1, 1.0)
    assert 0 < sum(turn.gain for turn in trace.turns) <= 1 + 1e-4
    assert (trace.provenance.source, trace.provenance.house) == ("expert", "small")


def test_each_line_of_the_memory_is_told_once(experts_bag: Path) -> None:
    (trace,) = traces_of_bag(Bag(experts_bag), ("agent_1",))
    added = [line for turn in trace.turns for line in turn.deltas if line.startswith("Add ")]
    assert len(added) == len(set(added))
    before = {line.partition(":")[0] for line in trace.entities}
    assert not before & {line.removeprefix("Add ").partition(":")[0] for line in added}


@pytest.mark.slow
def test_what_no_planner_decided_is_of_a_person(persons_bag: Path, experts_bag: Path) -> None:
    both = zip(traces_of_bag(Bag(persons_bag)), traces_of_bag(Bag(experts_bag)), strict=True)
    for person, expert in both:
        assert (person.provenance.source, expert.provenance.source) == (PERSON, "expert")
        assert [turn.call for turn in person.turns] == [turn.call for turn in expert.turns]


@pytest.mark.slow
def test_a_folder_of_bags_is_continued_to_the_same_bytes(
    persons_bag: Path, experts_bag: Path, tmp_path: Path
) -> None:
    recipe = BagRecipe((persons_bag, experts_bag), seed=4)
    lines: list[str] = []
    manifest = make_bag_traces(tmp_path / "out", recipe, lines.append)
    assert (manifest.complete, manifest.traces) == (True, 4)
    assert manifest.counts == {"source person": 2, "source expert": 2, "solved": 4}
    assert len(list(read_traces(tmp_path / "out"))) == 4
    first = shard_file(tmp_path / "out", 0)
    text = first.read_bytes()
    first.unlink()
    make_bag_traces(tmp_path / "out", recipe, lines.append)
    assert first.read_bytes() == text
    assert [line.rpartition(": ")[2] for line in lines] == ["2 traces"] * 3
    with pytest.raises(FileError, match="is of other traces"):
        make_bag_traces(tmp_path / "out", BagRecipe((persons_bag,)), lines.append)


def test_bags_that_cannot_be_used_are_told(
    persons_bag: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        PlannerError, match="has no calls of agent_7; there are calls of agent_0, agent_1"
    ):
        traces_of_bag(Bag(persons_bag), ("agent_7",))
    log = tmp_path / "states.jsonl"
    log.write_text('{"record":"world"}\n')
    with pytest.raises(FileError, match="is a log of states, which has no calls"):
        make_bag_traces(tmp_path / "a", BagRecipe((log,)), print)
    with pytest.raises(FileError, match="is named twice"):
        make_bag_traces(tmp_path / "b", BagRecipe((persons_bag, persons_bag)), print)
    known = (frozenset({"small"}), frozenset[str](), frozenset[str]())
    monkeypatch.setattr("planner.training.traces.folder.evaluated", lambda: known)
    with pytest.raises(LeakError, match="planners are evaluated in the house small"):
        make_bag_traces(tmp_path / "c", BagRecipe((persons_bag,)), print)


@pytest.mark.slow
def test_a_run_that_was_not_solved_is_told(
    tmp_path: Path, small_house: House, asked: Episode
) -> None:
    goal = {
        "function_name": "is_on_top",
        "args": {"objects": ["cup_0"], "receptacles": ["table_0"]},
    }
    other = asked.model_copy(update={"evaluation": {"propositions": [goal]}})

    def elsewhere(task: Task, _tell: Callable[..., None]) -> Person:
        return Person(Task(task.instruction, task.agents, asked.evaluation, task.seed))

    stage = Stage(tmp_path / "bag", small_house, other, make_planner=elsewhere)
    assert not stage.play().verdict.success
    lines: list[str] = []
    kept = make_bag_traces(tmp_path / "out", BagRecipe((tmp_path / "bag",)), lines.append)
    assert kept.traces == 0
    assert lines[0].endswith("0 traces: its task was not solved, so none is kept")
    rules = TraceRules(keep_failed=True)
    recipe = BagRecipe((tmp_path / "bag",), rules=rules)
    assert make_bag_traces(tmp_path / "all", recipe, lines.append).traces == 2


@pytest.mark.slow
def test_the_command_reads_bags(
    persons_bag: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    words = ["train", "traces", out, "--from-bag", str(persons_bag), "--agent", "agent_0"]
    assert main(words) == 0
    assert "1 of 1, " in capsys.readouterr().out
    plain = str(tmp_path / "plain")
    assert main(["train", "traces", plain, *words[3:], "--as-recorded", "--invented", "0"]) == 0
    kept = read_manifest(tmp_path / "plain").recipe
    assert (kept["rule drop_repeats"], kept["rule drop_idle"]) == (False, False)
    assert main(["train", "traces", out, "--episodes", "train", "--agent", "agent_0"]) == 2
    assert "--agent is of --from-bag" in capsys.readouterr().err


@pytest.fixture
def session(persons_bag: Path, tmp_path: Path) -> Path:
    """A run with a console: its bag, and the record that the console writes."""
    folder = tmp_path / "run"
    shutil.copytree(persons_bag, folder / BAG)
    record = SessionRecord(str(folder / RECORD))
    instruct = {"words": "Tidy.", "dialogue": []}
    record.write("Ann 111111", "operator", "instruct", order=instruct)
    for agent, who in (("agent_0", "Ann 111111"), ("agent_1", "Bob 222222")):
        call = {"agent": agent, "call": "Pick[cup_0]"}
        record.write(who, agent, "skill", order=call)
        record.write("Eve 333333", agent, "skill", order=call, refused="this page is not it")
    record.close()
    return folder


def agree(session: Path, who: str, yes: bool) -> None:
    record = SessionRecord(str(session / RECORD))
    record.write(who, "", "consent", order={"yes": yes})
    record.close()


@pytest.mark.slow
def test_a_session_is_exported_as_far_as_its_persons_agreed(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["train", "traces", str(out), "--from-session", str(session)]
    assert main(words) == 2
    refused = capsys.readouterr().err
    assert f"{session / RECORD}" in refused
    assert "nobody who acted agreed to training (agent_0: Ann 111111; agent_1: Bob" in refused
    agree(session, "Ann 111111", True)
    agree(session, "Bob 222222", True)
    agree(session, "Bob 222222", False)
    assert main(words) == 0
    told = capsys.readouterr().out
    assert "agent_1 is left out: Bob 222222 did not agree to training" in told
    assert "agreed to training: agent_0: Ann 111111" in told
    traces = list(read_traces(out))
    assert [trace.agent for trace in traces] == ["agent_0"]
    assert traces[0].provenance.source == PERSON
    assert read_manifest(out).recipe["consent"] == "agent_0: Ann 111111"
    # With Bob's consent it is another recipe, which the same folder does not take.
    agree(session, "Bob 222222", True)
    assert main(words) == 2


def test_words_of_who_did_not_agree_are_not_exported(session: Path) -> None:
    agree(session, "Bob 222222", True)
    with pytest.raises(FileError, match="Ann 111111 gave the instruction and did not agree"):
        consents_of(session)


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        ("", "nobody was a partner in this session"),
        ('{"who": "a", "what": "skill"}\n{}', "line 1 seat: Field required"),
        ("[1]\n{}", "line 1: "),
        (
            '{"who": "a", "seat": "", "what": "consent", "order": {"yes": "no"}}',
            "line 1 order.yes: expected true or false, got 'no'",
        ),
    ],
)
def test_a_record_that_cannot_be_used_is_one_error(tmp_path: Path, lines: str, reason: str) -> None:
    (tmp_path / RECORD).write_text(lines)
    with pytest.raises(FileError) as refused:
        consents_of(tmp_path)
    assert reason in str(refused.value)
    assert str(tmp_path / RECORD) in str(refused.value)
    with pytest.raises(FileError, match="cannot be read"):
        consents_of(tmp_path / "elsewhere")


def test_a_last_line_that_was_cut_short_is_left_out(session: Path) -> None:
    agree(session, "Ann 111111", True)
    with (session / RECORD).open("a") as record:
        record.write('{"who": "Ann 111111", "sea')
    assert consents_of(session).agents == {"agent_0": ("Ann 111111",)}
