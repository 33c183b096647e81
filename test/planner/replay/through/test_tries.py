"""A session in which a task was tried several times: each try is one demonstration (PARTNR-10)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from stage import BEGIN_NS, Stage

from planner.cli import main
from planner.console.dispatcher import SessionRecord
from planner.planning.expert.expert import Expert
from planner.planning.planner import Task
from planner.recorder.bag_writer import BagWriter, Topic
from planner.replay.bag import Bag
from planner.replay.runs import parts_of
from planner.replay.states import STATES, recorded_states
from planner.training.traces.bag_run import Which, traces_of_bag, tries_of_bag
from planner.training.traces.folder import read_manifest, read_traces
from planner.training.traces.record import BAG, RECORD
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House

GRAPH = "/world_graph"
WHO = "Ann 111111"


class Person(Expert):
    """Somebody whose decisions no planner told."""

    @property
    def name(self) -> str:
        return "somebody"


def goal(*things: str, onto: str = "couch_0") -> Mapping[str, Any]:
    args = {"receptacles": [onto]}
    return {
        "propositions": [
            {"function_name": "is_on_top", "args": {"objects": [thing], **args}} for thing in things
        ]
    }


def played(folder: Path, house: House, asked: Episode, done: Mapping[str, Any]) -> Path:
    """A try at what is asked, in which a person did something."""

    def person(task: Task, _tell: Callable[..., None]) -> Person:
        wanted = asked.model_copy(update={"evaluation": done}).evaluation
        return Person(Task(task.instruction, task.agents, wanted, task.seed))

    stage = Stage(folder, house, asked, make_planner=person)
    stage.play(stage.tell_world)
    return folder


def joined(folder: Path, *bags: Path) -> Path:
    """One recording of them all: a memory hears a little later that the world began anew.

    What it said last of one world comes after the first state of the next, then what it knows anew.
    """
    writer, numbers = BagWriter(folder), dict[str, int]()
    for name, data in Bag(bags[0]).attachments().items():
        writer.attach(name, "application/json", data, BEGIN_NS)
    late: list[tuple[int, bytes]] = []
    for count, path in enumerate(bags):
        bag, last = Bag(path), None
        for info in bag.topics.values():
            if info.name not in numbers:
                topic = Topic(info.name, info.type_name, info.definition, info.qos)
                numbers[info.name] = writer.add_topic(topic)
        for name, message in bag.every():
            at_ns = message.received_ns + count * 10**13
            said = (numbers[name], bytes(message.data))
            last = said if name == GRAPH else last
            if late and name != STATES:
                late.append(said)
                continue
            for number, data in [said, *late]:
                writer.write(number, at_ns, at_ns, data)
            late = []
        late = [last] if last is not None else []
    writer.close()
    return folder


@pytest.fixture(scope="module")
def bags(
    tmp_path_factory: pytest.TempPathFactory, small_house: House, asked: Episode
) -> tuple[Path, ...]:
    """Half of it was done, nothing of it, all of it."""
    folder = tmp_path_factory.mktemp("tries")
    wanted = (goal("cup_0"), goal("book_0", onto="table_0"), goal("cup_0", "apple_0"))
    return tuple(
        played(folder / str(number), small_house, asked, done) for number, done in enumerate(wanted)
    )


@pytest.fixture
def session(bags: tuple[Path, ...], tmp_path: Path) -> Path:
    joined(tmp_path / "run" / BAG, *bags)
    record = SessionRecord(str(tmp_path / "run" / RECORD))
    record.write(WHO, "", "consent", order={"yes": True})
    for number in (1, 2, 3):
        call = {"agent": "agent_0", "call": "Pick[cup_0]"}
        record.write(WHO, "agent_0", "skill", order=call, **{"try": number})
    record.close()
    return tmp_path / "run"


@pytest.mark.slow
def test_each_try_is_what_it_was_alone(bags: tuple[Path, ...], session: Path) -> None:
    parts = parts_of(Bag(session / BAG))
    assert len(parts) == 3
    for part, path in zip(parts, bags, strict=True):
        assert sum(1 for _ in recorded_states(part)) == sum(1 for _ in recorded_states(Bag(path)))
        for found, alone in zip(traces_of_bag(part), traces_of_bag(Bag(path)), strict=True):
            assert found.turns == alone.turns
            assert found.entities == alone.entities
            done = (alone.agent, alone.reward, alone.percent_complete)
            assert (found.agent, found.reward, found.percent_complete) == done
    assert [each.is_open for each in parts] == [False] * 3
    assert parts_of(Bag(bags[0]))[0].message_count == Bag(bags[0]).message_count


@pytest.mark.slow
def test_all_tries_or_the_best_one(bags: tuple[Path, ...], session: Path, tmp_path: Path) -> None:
    told: list[str] = []
    every = tries_of_bag(session / BAG, (), Which.ALL, told.append)
    assert [each.rank for each in every] == [(0, 0.5), (0, 0.0), (1, 1.0)]
    assert [line.partition(", ")[2] for line in told] == [
        "try 1 of 3: 50% done, by agent_0, agent_1",
        "try 2 of 3: 0% done, by agent_0, agent_1",
        "try 3 of 3: solved, by agent_0, agent_1",
    ]
    (best,) = tries_of_bag(session / BAG, (), Which.BEST, told.append)
    assert best.number == 3
    failed = joined(tmp_path / "failed", *bags[:2])
    (best,) = tries_of_bag(failed, ("agent_0",), Which.BEST, told.append)
    assert (best.number, best.rank) == (1, (0, 0.5))
    with pytest.raises(PlannerError, match="has no calls of agent_7"):
        tries_of_bag(failed, ("agent_0", "agent_7"), Which.ALL, told.append)


@pytest.mark.slow
def test_the_command_exports_the_tries_of_a_session(
    session: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--from-session", str(session), "--as-recorded", "--invented", "0", "--explored", "0"]
    kept = {}
    for name, more in {
        "solved": [],
        "every": ["--keep-failed"],
        "best": ["--keep-failed", "--tries", "best"],
    }.items():
        assert main(["train", "traces", str(tmp_path / name), *words, *more]) == 0
        kept[name] = [trace.provenance.run for trace in read_traces(tmp_path / name)]
    out = capsys.readouterr().out
    assert "try 3 of 3: solved, by agent_0" in out
    assert f"agreed to training: agent_0: {WHO}" in out
    assert kept["solved"] == kept["best"] == ["run/bag try 3 of 3"]
    assert kept["every"] == [f"run/bag try {n} of 3" for n in (1, 2, 3)]
    assert read_manifest(tmp_path / "best").recipe["tries"] == "best"
    assert "tries" not in read_manifest(tmp_path / "every").recipe
    assert main(["train", "traces", str(tmp_path / "x"), "--episodes", "y", "--tries", "best"]) == 2
    assert "--tries is of --from-bag and --from-session" in capsys.readouterr().err
