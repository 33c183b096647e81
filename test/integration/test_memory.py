"""The memory node in front of a real bridge: what it sees, is told, keeps and answers."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from bridge_harness import Client, bridge
from chat_server import chat_server
from diagnostic_msgs.msg import DiagnosticArray, KeyValue
from memory_harness import EVENTS, Listener, counts, edit
from node_processes import running
from planner_msgs.msg import Entity, Operation, PlannerTrace, SkillReport
from planner_msgs.srv import LoadEpisode, LoadMemory, QueryMemory, SaveMemory

from planner.command_line import EXIT_CONFIGURATION
from planner.parts.calls import parse_call
from planner.ros.conversions import header
from planner.ros.skill_client import report_message
from planner.world.belief import BeliefNode, Source
from planner.world.person import Posture
from planner.world.primitive import CHANGED
from planner.world.skill import SkillCode, SkillResult
from planner.world.vocabulary import EntityKind, Relation
from planner.world.wire import graph_record


@pytest.fixture(scope="module")
def shared(world: Path) -> Iterator[Client]:
    with bridge(episode=world, rate=3.0):
        made = Client()
        yield made
        made.close()


@pytest.fixture
def client(shared: Client, world: Path) -> Iterator[Client]:
    answer = shared.call(LoadEpisode, "/world/load", episode=str(world))
    assert answer.success, answer.message
    yield shared
    shared.forget()


def look_at(client: Client, name: str) -> None:
    client.do("look", client.state().entities[name].box.center_m)


def now_s(client: Client) -> float:
    return client.state().stamp_s


def report(client: Client, call: str, result: SkillResult, ended_s: float) -> None:
    publisher = client.node.create_publisher(SkillReport, "/skills/results", EVENTS)
    client.wait(lambda: publisher.get_subscription_count() > 0, "a memory that listens")
    publisher.publish(report_message("agent_0", parse_call(call), result, ended_s))


def test_what_a_camera_shows_is_remembered_and_told(client: Client, world: Path) -> None:
    with running("memory", episode=world):
        listener = Listener(client)
        start = listener.until_known("table_0")
        furniture = [n for n in start.of_kind(EntityKind.FURNITURE) if n.entity_id is not None]
        assert [n.entity_id for n in furniture] == [100, 101, 102, 103, 104, 105]
        look_at(client, "cup_0")
        belief = listener.until_known("cup_0")
        cup = belief.nodes["cup_0"]
        assert (cup.parent, cup.relation, cup.source) == ("table_0", Relation.ON, Source.SEEN)
        assert cup.room == "kitchen_0"
        assert cup.entity_id is not None
        assert cup.entity_id > 105
        assert "book_0" not in belief.nodes
        assert belief.nodes["agent_0"].class_name == "robot"
        sequences = [update.sequence for update in listener.updates]
        assert sequences == [*range(1, len(sequences) + 1)]
        last = listener.lists[-1]
        assert last.sequence == sequences[-1]
        (cup,) = [e for e in last.entities if e.name == "cup_0"]
        assert cup.description.startswith("cup")
        assert 0.2 <= cup.seen_distance_m <= 6


def test_actions_change_the_graph_and_failures_are_heard(client: Client, world: Path) -> None:
    with running("memory", episode=world):
        listener = Listener(client)
        look_at(client, "cup_0")
        listener.until_known("cup_0")
        client.do("look", pan_rad=[3.0], tilt_rad=[0.2])
        ended_s = now_s(client) + 1.0
        report(client, "Pick[cup_0]", SkillResult.success(), ended_s)
        client.wait(lambda: listener.belief().nodes["agent_0"].holding == "cup_0", "a full hand")
        cup = listener.belief().nodes["cup_0"]
        assert (cup.parent, cup.source) == ("agent_0", Source.INFERRED)
        sequence = listener.belief().sequence
        failure = SkillResult.failure(SkillCode.TOO_FAR, "It is too far.")
        report(client, "Open[cabinet_0]", failure, ended_s + 5.0)
        client.wait(lambda: listener.belief().stamp_s >= ended_s + 5.0, "the report's stamp")
        assert listener.belief().sequence == sequence


def test_of_a_still_world_only_ages_are_reported_and_rarely(client: Client, world: Path) -> None:
    with running("memory", episode=world):
        listener = Listener(client)
        look_at(client, "cup_0")
        listener.until_known("cup_0")
        heard = client.listen(DiagnosticArray, "/diagnostics", EVENTS)
        # What still came of the look is over after two that differ in nothing but times.
        client.wait(lambda: _differ_in_times_only(listener), "two alike", limit=90.0)
        heard.clear()
        before = len(listener.graphs)
        client.wait(lambda: len(listener.graphs) >= before + 2, "its ages", limit=90.0)
        assert _differ_in_times_only(listener)
        own = [m for m in heard if any(s.name == "memory: entities" for s in m.status)]
        assert len(own) > 2


def _differ_in_times_only(listener: Listener) -> bool:
    """Whether the newest two graphs have the same nodes, the second with newer times."""
    if len(listener.graphs) < 2:
        return False
    before, after = (graph_record(graph) for graph in listener.graphs[-2:])
    cups = [belief.nodes["cup_0"] for belief in (before, after) if "cup_0" in belief.nodes]
    if len(cups) < 2 or before.sequence != after.sequence:
        return False
    same = [replace(node, stamp_s=0.0) for node in cups]
    return same[0] == same[1] and cups[0].stamp_s < cups[1].stamp_s


def detections(stamp_s: float, frame: str, x_m: float, y_m: float, *classes: str) -> Any:
    """What a detector publishes of one person with hypotheses that are all sure."""
    vision = pytest.importorskip("vision_msgs.msg", reason="needs make robot-interfaces")
    one = vision.Detection3D(id="7")
    one.bbox.center.position.x, one.bbox.center.position.y = x_m, y_m
    one.bbox.center.position.z = 0.8
    for name in classes:
        result = vision.ObjectHypothesisWithPose()
        result.hypothesis.class_id, result.hypothesis.score = name, 0.9
        one.results.append(result)
    return vision.Detection3DArray(header=header(stamp_s, frame), detections=[one])


def test_persons_of_somebody_elses_detector_are_remembered(client: Client, world: Path) -> None:
    message = detections(0.0, "map", 2.0, 2.0, "person", "posture_sitting")
    with running("memory", episode=world, persons="/detector/persons"):
        listener = Listener(client)
        listener.until_known("table_0")
        publisher = client.node.create_publisher(type(message), "/detector/persons", EVENTS)
        heard = client.listen(DiagnosticArray, "/diagnostics", EVENTS)

        def persons() -> list[BeliefNode]:
            nodes = listener.belief().nodes.values()
            return [node for node in nodes if node.class_name == "person"]

        def publish(*arguments: Any) -> bool:
            publisher.publish(detections(*arguments))
            return True

        client.wait(
            lambda: publish(0.0, "map", 2.0, 2.0, "person", "posture_sitting") and persons(),
            "a person",
        )
        (person,) = persons()
        assert person.person is not None
        assert person.person.posture is Posture.SITTING
        assert person.position_m == pytest.approx((2.0, 2.0, 0.8))
        # The robot's own frame, in which the person has walked on.
        client.wait(
            lambda: (
                publish(0.0, "agent_0/base_link", 1.5, 0.0, "human")
                and persons()[0].position_m != person.position_m
            ),
            "a walk",
        )
        (walked,) = persons()
        base_m = client.state().entities["agent_0"].pose.position_m
        assert math.dist(walked.position_m[:2], base_m[:2]) == pytest.approx(1.5, abs=0.05)
        assert walked.entity_id == person.entity_id
        # Nobody for a chair, nor for what another clock or no frame says.
        for arguments in (
            (0.0, "map", 3.0, 3.0, "chair"),
            (1e6, "map", 3.0, 3.0, "person"),
            (0.0, "nowhere", 3.0, 3.0, "person"),
        ):
            publish(*arguments)
            client.idle(0.5)
        client.wait(
            lambda: any("'nowhere', which is not known" in name for name in counts(client, heard)),
            "the reason",
        )
        assert any("not of the frames' clock" in name for name in counts(client, heard))
        assert [node.position_m for node in persons()] == [walked.position_m]


def test_a_killed_memory_comes_back_as_it_was(client: Client, world: Path, tmp_path: Path) -> None:
    with running("memory", episode=world, store=tmp_path) as process:
        listener = Listener(client)
        look_at(client, "cup_0")
        # The list comes on a topic of its own, and may come after the graph.
        client.wait(
            lambda: listener.lists and "cup_0" in {e.name for e in listener.lists[-1].entities},
            "a list with the cup",
        )
        process.kill()
        process.wait()
        before = listener.lists[-1]
    client.forget()
    with running("memory", episode=world, store=tmp_path):
        listener = Listener(client)
        client.wait(lambda: listener.lists, "/memory/entities")
        after = listener.lists[0]
        assert after.sequence >= before.sequence
        kept = {e.id: e.name for e in after.entities}
        assert kept.items() >= {e.id: e.name for e in before.entities}.items()
        cup = Entity(description="bottle")
        added = edit(client, Operation(kind=Operation.ADD, entity=cup))
        assert added.ids[0] > max(kept)
        assert added.sequence > after.sequence


def test_a_world_that_is_loaded_again_gets_a_fresh_list(
    client: Client, world: Path, tmp_path: Path
) -> None:
    with running("memory", episode=world, store=tmp_path):
        listener = Listener(client)
        look_at(client, "cup_0")
        listener.until_known("cup_0")
        client.call(LoadEpisode, "/world/load", episode=str(world))
        client.wait(lambda: "cup_0" not in listener.belief().nodes, "a fresh list")
        look_at(client, "cup_0")
        listener.until_known("cup_0")
    assert sorted(path.name for path in tmp_path.glob("*.sqlite")) == [
        "small.1.sqlite",
        "small.sqlite",
    ]


def test_the_services(client: Client, world: Path, tmp_path: Path) -> None:
    with running("memory", episode=world, store=tmp_path / "store", files_anywhere=True):
        listener = Listener(client)
        listener.until_known("table_0")
        bottle = Entity(description="bottle: red with the Object.100")
        bottle.position.x, bottle.position.y, bottle.position.z = 2.2, 3.2, 0.8
        added = edit(client, Operation(kind=Operation.ADD, entity=bottle))
        assert added.success, added.message
        (number,) = added.ids
        listener.until_known(f"bottle_red_{number}")
        answer = client.call(QueryMemory, "/memory/query", text="red bottle", limit=1)
        assert ([e.id for e in answer.entities], list(answer.scores)) == ([number], [1.0])
        answer = client.call(QueryMemory, "/memory/query", room="kitchen_0", with_updates=True)
        assert [u.sequence for u in answer.updates] == [*range(1, answer.sequence + 1)]
        assert {e.room for e in answer.entities} == {"kitchen_0"}
        answer = client.call(QueryMemory, "/memory/query", with_updates=True, since_sequence=10**6)
        assert not answer.success
        assert "request the snapshot" in answer.message
        refused = edit(
            client,
            Operation(kind=Operation.REMOVE, entity=Entity(id=number)),
            Operation(kind=Operation.REMOVE, entity=Entity(id=100)),
        )
        assert (refused.success, refused.code) == (False, 1)
        assert "operation 1: Remove: Object.100 is furniture" in refused.message
        assert not edit(client, Operation(kind=9)).success
        bottle.position.x = 1e18
        far = edit(client, Operation(kind=Operation.ADD, entity=bottle))
        assert (far.success, far.code) == (False, 1)
        assert "operations[0].entity.position.x: 1e+18 is outside" in far.message
        copy = str(tmp_path / "copy.sqlite")
        saved = client.call(SaveMemory, "/memory/save", path=copy)
        assert (saved.success, saved.path) == (True, copy)
        assert client.call(SaveMemory, "/memory/save").success
        edit(client, Operation(kind=Operation.REMOVE, entity=Entity(id=number)))
        loaded = client.call(LoadMemory, "/memory/load", path=copy)
        assert loaded.success, loaded.message
        assert loaded.sequence > saved.sequence
        listener.until_known(f"bottle_red_{number}")
        (tmp_path / "diary.sqlite").write_text("dear diary" * 100)
        for path, reason in (
            ("diary.sqlite", "not a database"),
            ("nowhere.sqlite", "there is no such file"),
        ):
            wrong = client.call(LoadMemory, "/memory/load", path=str(tmp_path / path))
            assert not wrong.success
            assert reason in wrong.message


def test_names_stay_in_the_folder_and_none_ends_the_node(
    client: Client, world: Path, tmp_path: Path
) -> None:
    store, outside = tmp_path / "store", tmp_path / "copy.sqlite"
    with running("memory", episode=world, store=store) as process:
        Listener(client).until_known("table_0")
        (store / "empty.sqlite").touch()
        (store / "free.sqlite-wal").write_text("of another program")
        (store / "link.sqlite").symlink_to(outside)
        refused = {
            "x" * 3000 + ".sqlite": "is too long",
            "x" * 250 + ".sqlite": "is too long",
            str(outside): "is not in the memory's folder",
            "../copy.sqlite": "goes up by '..'",
            "link.sqlite": "is a link",
            "empty.sqlite": "is empty",
            "free.sqlite": "left by a killed process: free.sqlite-wal",
            "small.sqlite-wal": "ends in .sqlite",
        }
        for name, reason in refused.items():
            saved = client.call(SaveMemory, "/memory/save", path=name)
            assert (saved.success, saved.code) == (False, 1)
            assert reason in saved.message
            assert "\n" not in saved.message
            loaded = client.call(LoadMemory, "/memory/load", path=name)
            assert not loaded.success
        assert not client.call(LoadMemory, "/memory/load").success
        saved = client.call(SaveMemory, "/memory/save", path="copy.sqlite")
        assert (saved.success, saved.path) == (True, str(store / "copy.sqlite"))
        assert client.call(LoadMemory, "/memory/load", path="copy.sqlite").success
        assert process.poll() is None
    assert (store / "empty.sqlite").stat().st_size == 0
    assert (store / "free.sqlite-wal").read_text() == "of another program"
    assert not outside.exists()


def test_what_cannot_be_read_costs_only_itself(client: Client, world: Path) -> None:
    with running("memory", episode=world) as process:
        listener = Listener(client)
        listener.until_known("table_0")
        publisher = client.node.create_publisher(SkillReport, "/skills/results", EVENTS)
        client.wait(lambda: publisher.get_subscription_count() > 0, "a memory that listens")
        statuses = client.listen(DiagnosticArray, "/diagnostics")

        def counted() -> bool:
            # Again and again: a memory that listens may not yet be known to listen.
            for call, code in (("rm -rf /", 0), ("Pick[cup_0]", 4711), ("Pick[]", 0), ("", 0)):
                publisher.publish(SkillReport(agent="agent_0", call=call, code=code))
            told = [KeyValue(key=CHANGED, value="put out")]
            publisher.publish(SkillReport(agent="agent_0", call="UseSand[table_0]", evidence=told))
            client.idle(0.3)
            values = [
                value.key
                for message in statuses
                for status in message.status
                if status.name == "memory: entities"
                for value in status.values
            ]
            kinds = {key for key in values if "/skills/results" in key}
            return len(kinds) >= 4 and any(f"evidence {CHANGED}" in key for key in kinds)

        client.wait(counted, "the count of what cannot be read")
        assert process.poll() is None


def refusal(**parameters: object) -> str:
    with running("memory", **parameters) as process:
        assert process.wait(60) == EXIT_CONFIGURATION, process.log
    (line,) = [line for line in process.log.splitlines() if "error: " in line]
    return line


def test_what_it_cannot_run_with_is_one_line(world: Path, tmp_path: Path) -> None:
    assert "'telepathy' is not one of none, learned" in refusal(updater="telepathy")
    assert "atlantis" in refusal(house="atlantis")
    assert "name a house or an episode" in refusal(updater="none")
    with sqlite3.connect(tmp_path / "small.sqlite") as database:
        database.executescript("CREATE TABLE meta (key); PRAGMA application_id = 1162890545;")
    line = refusal(episode=world, store=tmp_path)
    assert "schema version 0; this program reads version 1" in line


def test_without_an_updater_it_remembers_what_it_is_told(client: Client, world: Path) -> None:
    with running("memory", episode=world, updater="none"):
        listener = Listener(client)
        listener.until_known("table_0")
        added = edit(client, Operation(kind=Operation.ADD, entity=Entity(description="cup")))
        assert added.success, added.message
        report(client, f"Pick[Object.{added.ids[0]}]", SkillResult.success(), 1e4)
        client.wait(lambda: listener.lists[-1].entities[-1].picked, "what was picked")


# Memories that see with a model


def test_the_learned_memory_sees_without_privilege(client: Client, world: Path) -> None:
    with running("memory", episode=world, updater="learned"):
        listener = Listener(client)
        listener.until_known("table_0")
        x, y, z = client.state().entities["cup_0"].box.center_m

        def sees() -> bool:
            for aside in (0.0, 0.08, -0.08, 0.04):
                client.do("look", (x + aside, y, z))
                client.idle(0.3)
            return any(not e.is_furniture for e in listener.lists[-1].entities)

        client.wait(sees, "something seen")
        (thing, *_) = [e for e in listener.lists[-1].entities if not e.is_furniture]
        # It names what it sees itself: by class and number, never by the world's names.
        assert thing.name.endswith(f"_{thing.id}")
        assert {u.source for u in listener.updates} == {"learned"}
        answer = client.call(QueryMemory, "/memory/query", text=thing.description, limit=1)
        assert [e.id for e in answer.entities] == [thing.id]


def test_true_segments_come_to_the_node_beside_colours(client: Client, world: Path) -> None:
    with running("memory", episode=world, updater="learned", true_segmentation="true"):
        listener = Listener(client)
        listener.until_known("table_0")
        x, y, z = client.state().entities["cup_0"].box.center_m

        def sees() -> bool:
            for aside in (0.0, 0.08, -0.08, 0.04):
                client.do("look", (x + aside, y, z))
                client.idle(0.3)
            found = [e for e in listener.lists[-1].entities if not e.is_furniture]
            return any(e.name.startswith("cup_") for e in found)

        client.wait(sees, "the cup as what it is")


def test_a_model_behind_a_server_makes_the_edits(client: Client, world: Path) -> None:
    wrong = "Update 9999 (192, 192):cup\nnonsense\nRemove 100"
    with (
        # The first answer tells how the server takes a grammar.
        chat_server(("a7", "Add (192, 300):green cup", wrong, "No updates")) as (url, asked),
        running("memory", episode=world, updater="vlm", model="epm", model_url=url),
    ):
        listener = Listener(client)
        traces = client.listen(PlannerTrace, "/memory/trace", 100)
        statuses = client.listen(DiagnosticArray, "/diagnostics")
        listener.until_known("table_0")
        look_at(client, "cup_0")
        client.wait(
            lambda: any(e.description == "green cup" for e in listener.lists[-1].entities),
            "what the model said",
        )
        look_at(client, "table_0")
        client.wait(lambda: len(asked) >= 4, "three questions")
        client.wait(lambda: counts(client, statuses).get("operations refused") == "2", "refusals")
        values = counts(client, statuses)
        assert values["lines unreadable"] == "1"
        assert "Object.100 is furniture" in values["last refused"]
        assert int(values["pictures failed"]) == 0
        picture, text = asked[1]["messages"][0]["content"]
        assert picture["image_url"]["url"].startswith("data:image/png;base64,")
        assert text["text"].endswith("Your next update is:")
        assert "op ::=" in asked[1]["structured_outputs"]["grammar"]
        assert 100 in [e.id for e in listener.lists[-1].entities]
        client.wait(lambda: len(traces) >= 2, "the model's calls")
        assert {(trace.planner, trace.model, trace.role) for trace in traces} == {
            ("vlm", "epm", "memory")
        }
        assert "Add (192, 300):green cup" in [trace.reply for trace in traces]


@pytest.mark.parametrize(
    "updater",
    [
        "object-graph",
        "voxels-plain",
        pytest.param("voxels-room", marks=pytest.mark.slow),
        pytest.param("voxels-room-time-only", marks=pytest.mark.slow),
    ],
)
def test_a_baseline_runs_in_the_node_and_answers_questions(
    client: Client, world: Path, updater: str
) -> None:
    with running("memory", episode=world, updater=updater):
        listener = Listener(client)
        listener.until_known("table_0")
        look_at(client, "cup_0")
        client.wait(
            lambda: any(e.name.startswith("cup_") for e in listener.lists[-1].entities), "a cup"
        )
        answer = client.call(QueryMemory, "/memory/query", text="where is the cup?")
        # A baseline may know one thing twice, where the turning camera showed it in two places.
        assert {e.description for e in answer.entities} == {"cup"}
        assert "seen at" in answer.message


def test_a_model_behind_a_server_labels_the_rooms_of_furniture(client: Client, world: Path) -> None:
    """The first answer tells how the server takes a grammar; the next is no label."""
    answers = ("a7", '{"ROOM_LABEL": "ballroom"}', '{"ROOM_LABEL": "kitchen"}')
    with (
        chat_server(answers) as (url, asked),
        running(
            "memory", episode=world, updater="object-graph", room_model="m", room_model_url=url
        ),
    ):
        listener = Listener(client)
        traces = client.listen(PlannerTrace, "/memory/trace", 100)
        statuses = client.listen(DiagnosticArray, "/diagnostics")
        listener.until_known("table_0")
        look_at(client, "cup_0")

        def rooms() -> list[str]:
            pieces = [e for e in listener.lists[-1].entities if e.is_furniture]
            return sorted(e.room for e in pieces)

        client.wait(lambda: set(rooms()) == {"", "kitchen_0"}, "what the model said")
        assert rooms().count("") == 1
        client.wait(
            lambda: counts(client, statuses).get("room labels unreadable") == "1", "the count"
        )
        client.wait(lambda: len(traces) >= len(rooms()), "the model's calls")
        assert {(trace.planner, trace.role) for trace in traces} == {("object-graph", "memory")}
        assert "QUERY_OBJECT_NAME" in asked[-1]["messages"][1]["content"]


def test_a_memory_whose_model_is_missing_is_one_line(world: Path, tmp_path: Path) -> None:
    assert "the memory vlm needs a model" in refusal(episode=world, updater="vlm")
    line = refusal(episode=world, updater="open-vocabulary", model=tmp_path)
    assert "needs the extra" in line or "is not a model folder" in line
