"""Tables of topics: which columns there are, what is in them, how files are named."""

from __future__ import annotations

import csv
import json
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.recorder.bag_writer import Topic
from planner.replay.export.csv_tables import cell, file_names, write_csv
from planner.replay.export.source import Source
from planner.world.errors import FileError


def table(folder, name: str) -> list[dict[str, str]]:
    with (folder / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "csv"
    made.mkdir()
    return made


def test_a_topic_is_a_table_with_a_column_a_field(tapes, folder) -> None:
    rows = write_csv(Source(tapes.run()), folder)
    odometry = table(folder, "agent_0.odometry.csv")
    assert len(odometry) == 41
    row, (x, y, _) = odometry[10], tapes.base_pose(1.0)
    assert row["received_ns"] == str(tapes.start_ns + 10**9 + 5_000_000)
    assert row["stamp_ns"] == str(10**9)
    assert (float(row["pose.pose.position.x"]), float(row["pose.pose.position.y"])) == (x, y)
    assert row["pose.covariance.35"] == "0.0"
    assert row["header.frame_id"] == "agent_0/odom"
    joints = table(folder, "agent_0.joint_states.csv")[20]
    assert (joints["name.1"], joints["position.0"]) == ("hand_tilt", "0.2")
    document = json.loads((folder / "columns.json").read_text())
    assert document["bag"] == "bag"
    assert sum(t["rows"] for t in document["tables"]) == rows
    for described in document["tables"]:
        with (folder / described["file"]).open(newline="") as stream:
            assert next(csv.reader(stream)) == described["columns"]


def test_what_is_long_has_no_columns_and_is_listed(tapes, folder) -> None:
    tape = tapes.tape()
    tape.picture("agent_0", 0.0)
    few = [{"kind": 1, "pose": {}} for _ in range(3)]
    tape.put("/few", "planner_msgs/WorldState", 0.0, entities=few)
    tape.put("/many", "planner_msgs/WorldState", 0.0, entities=few * 6)
    write_csv(Source(tape.close()), folder)
    tables = {t["topic"]: t for t in json.loads((folder / "columns.json").read_text())["tables"]}
    left = tables["/agent_0/camera/hand/image"]["left_out"]
    assert left == {"data": "an array of up to 9216 bytes; columns are made for up to 36"}
    left = tables["/many"]["left_out"]
    assert left == {"entities": "an array of up to 18 messages; columns are made for up to 16"}
    assert tables["/few"]["left_out"] == {}
    assert "entities.2.pose.orientation.w" in tables["/few"]["columns"]


def test_arrays_of_different_lengths_share_columns_in_the_fields_order(tapes, folder) -> None:
    tape = tapes.tape()
    for time_s, names in ((0.0, ["a"]), (1.0, ["a", "b", "c"]), (2.0, [])):
        tape.put("/j", "sensor_msgs/JointState", time_s, name=names, position=[time_s] * len(names))
    write_csv(Source(tape.close()), folder)
    rows = table(folder, "j.csv")
    columns = list(rows[0])[5:]
    assert columns == ["name.0", "name.1", "name.2", "position.0", "position.1", "position.2"]
    assert [row["name.2"] for row in rows] == ["", "c", ""]
    assert [row["position.0"] for row in rows] == ["0.0", "1.0", ""]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_text_is_no_formula(tapes, folder, text) -> None:
    tape = tapes.tape()
    tape.put("/s", "std_msgs/String", 0.0, data=text)
    write_csv(Source(tape.close()), folder)
    assert table(folder, "s.csv")[0]["data"] == f"'{text}"


def test_texts_with_quotes_commas_and_lines_are_read_again(tapes, folder) -> None:
    tape = tapes.tape()
    text = 'one, "two"\nthree; \u00e9\u4e2d'
    tape.put("/s", "std_msgs/String", 0.0, data=text)
    write_csv(Source(tape.close()), folder)
    assert table(folder, "s.csv")[0]["data"] == text


def test_numbers_are_written_so_that_they_are_read_again() -> None:
    assert cell(0.1) == "0.1"
    assert cell(-3) == "-3"
    assert cell(True) == "true"
    assert cell(np.float32(0.1)) == "0.1"
    assert float(cell(1 / 3)) == 1 / 3
    assert cell(float("nan")) == "nan"


def test_the_same_bag_gives_the_same_bytes(tapes, tmp_path) -> None:
    bag = tapes.run()
    made = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        write_csv(Source(bag), tmp_path / name)
        made.append({p.name: p.read_bytes() for p in (tmp_path / name).iterdir()})
    assert made[0] == made[1]


def test_only_the_topics_that_were_asked_for(tapes, folder) -> None:
    bag = tapes.run()
    assert write_csv(Source(bag), folder, ["/evaluation", "/skills/results"]) == 3
    assert {p.name for p in folder.iterdir()} == {
        "columns.json",
        "evaluation.csv",
        "skills.results.csv",
    }
    with pytest.raises(
        FileError, match="/nothing: is not a topic of this bag, which has: /agent_0/"
    ):
        write_csv(Source(bag), folder, ["/nothing"])


def test_a_topic_whose_type_is_not_known_is_listed_and_the_others_are_written(
    tapes, folder
) -> None:
    tape = tapes.tape()
    tape.put("/s", "std_msgs/String", 0.0, data="a")
    number = tape.writer.add_topic(Topic("/x", "other_msgs/msg/X", "%&$ no definition", ""))
    tape.writer.write(number, tapes.start_ns, tapes.start_ns, b"\0\1\0\0abcd")
    source = Source(tape.close())
    assert write_csv(source, folder) == 1
    document = json.loads((folder / "columns.json").read_text())
    assert list(document["unreadable"]) == ["/x"]
    assert [t["topic"] for t in document["tables"]] == ["/s"]
    with pytest.raises(FileError, match="/x: "):
        write_csv(source, folder, ["/x"])


@given(st.sets(st.text(min_size=1, max_size=300), max_size=20))
def test_no_topic_becomes_a_path_and_no_two_one_file(topics) -> None:
    names = file_names(sorted(topics))
    assert names.keys() == topics
    assert len({name.casefold() for name in names.values()}) == len(topics)
    for name in names.values():
        assert PurePosixPath(name).name == name
        assert not name.startswith((".", "-")) or name.removesuffix(".csv").strip(".")
        assert len(name) < 160
        assert name.isascii()
        assert not set(name) & set('/\\:*?"<>|\0 \n')


def test_hostile_and_alike_topics_have_files_of_their_own() -> None:
    names = file_names(["/a/b", "/a.b", "/A/b", "/../../etc/passwd", "/", "/a//b"])
    assert names["/a/b"] == "a.b.csv" or names["/A/b"] == "A.b.csv"
    assert names["/a.b"] == "a%2Eb.csv"
    assert names["/../../etc/passwd"] == "%2E%2E.%2E%2E.etc.passwd.csv"
    assert len({name.casefold() for name in names.values()}) == 6
