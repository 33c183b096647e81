"""The store: what a killed process, a full disk and wrong files leave behind."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from memory_samples import layout_of

from planner.memory.entity_list import EntityList
from planner.memory.memory import EditError, Memory
from planner.memory.settings import open_memory, store_path
from planner.memory.store import Store, StoreError, read_file, write_file
from planner.memory.updater import Operation
from planner.world.belief import OperationKind
from planner.world.observation import Observation

ADD, UPDATE, REMOVE = OperationKind.ADD, OperationKind.UPDATE, OperationKind.REMOVE
SAMPLES = Path(__file__).parents[2] / "integration"


def add(text: str = "cup") -> Operation:
    return Operation(ADD, description=text, position_m=(1.0, 2.0, 0.5))


def begin(folder: Path, clock_s: float = 100.0, pieces: int = 3) -> Memory:
    return open_memory(
        layout_of(pieces), None, folder=folder, episode="e1", agents={}, clock_s=clock_s
    )


def test_a_reopened_memory_continues(tmp_path: Path) -> None:
    memory = begin(tmp_path)
    memory.edit([add("cup dirty"), add("bowl")], "test", 1.0)
    memory.edit([Operation(REMOVE, 104)], "test", 2.0)
    before = memory.snapshot()
    memory.close()
    again = begin(tmp_path)
    assert again.snapshot() == before
    assert again.deltas_since(1).lines == ["Remove Object.104"]
    assert again.edit([add()], "test", 3.0).ids == (105,)
    assert again.sequence == 3
    again.close()


def test_a_killed_process_loses_nothing_that_it_told(tmp_path: Path) -> None:
    script = textwrap.dedent(
        f"""
        import sys
        sys.path.insert(0, {str(SAMPLES)!r})
        from memory_samples import layout_of
        from pathlib import Path
        from planner.memory.settings import open_memory
        from planner.memory.updater import Operation
        from planner.world.belief import OperationKind
        memory = open_memory(layout_of(3), None, folder=Path({str(tmp_path)!r}), episode="e1",
                             agents={{}}, clock_s=100.0)
        while True:
            add = Operation(OperationKind.ADD, description="cup", position_m=(1.0, 2.0, 0.5))
            memory.edit([add], "child", 1.0)
            print(memory.sequence, flush=True)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        mark_reported = 0
        while mark_reported < 200:
            mark_reported = int(child.stdout.readline())
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read().split()
        mark_reported = int(rest[-1]) if rest else mark_reported
    memory = begin(tmp_path)
    assert memory.sequence in (mark_reported, mark_reported + 1)
    assert len(memory.snapshot().entities) == 3 + memory.sequence
    assert memory.edit([add()], "test", 2.0).ids == (103 + memory.sequence - 1,)
    memory.close()


def test_a_world_that_began_again_gets_a_fresh_list(tmp_path: Path) -> None:
    memory = begin(tmp_path)
    memory.edit([add()], "test", 50.0)
    memory.close()
    fresh = begin(tmp_path, clock_s=0.2)
    assert (fresh.sequence, len(fresh.snapshot().entities)) == (0, 3)
    fresh.close()
    kept = read_file(tmp_path / "e1.1.sqlite")
    assert (kept.sequence, len(kept.entities)) == (1, 4)


@pytest.mark.slow
def test_a_file_grows_with_the_entities_and_not_with_the_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("planner.memory.store.HISTORY", 100)
    memory = begin(tmp_path)
    (number,) = memory.edit([add()], "test", 0.0).ids
    for frame in range(1, 2000):
        moved = Operation(UPDATE, number, description="cup", position_m=(1.0 + frame % 2, 2.0, 0.5))
        memory.edit([moved], "test", float(frame))
    memory.close()
    content = read_file(store_path(tmp_path, "e1"))
    assert [c.sequence for c in content.changes] == list(range(1901, 2001))
    assert len(content.entities) == 4
    again = begin(tmp_path, clock_s=3000.0)
    assert (again.sequence, len(again.snapshot().entities)) == (2000, 4)
    assert not again.deltas_since(0).complete
    assert again.deltas_since(1900).complete
    again.close()


def test_when_things_were_last_seen_is_kept_at_the_end(tmp_path: Path) -> None:
    memory = begin(tmp_path)
    memory.edit([add()], "test", 1.0)
    own = store_path(tmp_path, "e1")
    assert memory.save() == memory.save(own) == own
    memory.edit([add()], "test", 1.0)
    memory.close()
    assert read_file(own).sequence == 2
    content = read_file(store_path(tmp_path, "e1"))
    assert (content.episode, content.house, content.stamp_s) == ("e1", "tables", 1.0)


_lines = st.lists(
    st.tuples(
        st.sampled_from(OperationKind),
        st.integers(100, 108),
        st.sampled_from(["cup", "cup picked", "bowl placed", "lamp powered on"]),
        st.tuples(*[st.floats(0, 15)] * 3),
    ),
    max_size=12,
)


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(_lines)
def test_the_stored_changes_replay_to_the_stored_list(
    tmp_path_factory: pytest.TempPathFactory,
    lines: list[tuple[OperationKind, int, str, tuple[float, float, float]]],
) -> None:
    folder = tmp_path_factory.mktemp("store")
    memory = begin(folder)
    for kind, number, text, position_m in lines:
        entity_id = None if kind is ADD else number
        operation = Operation(kind, entity_id, description=text, position_m=position_m)
        try:
            memory.edit([operation], "test", 1.0)
        except EditError:
            continue
    memory.close()
    content = read_file(store_path(folder, "e1"))
    replayed = {entity.entity_id: entity for entity in EntityList(layout_of(3)).entities}
    for index, change in enumerate(content.changes):
        assert change.sequence == index + 1
        for edit in change.edits:
            replayed[edit.entity.entity_id] = edit.entity
            if edit.kind is REMOVE:
                del replayed[edit.entity.entity_id]
    stored = {entity.entity_id: entity for entity in content.entities}
    # What was only seen again is stored without a change.
    assert {n: e.description for n, e in stored.items()} == {
        n: e.description for n, e in replayed.items()
    }
    assert {n: e.position_m for n, e in stored.items()} == {
        n: e.position_m for n, e in replayed.items()
    }
    assert memory.snapshot().entities == content.entities


# Wrong files


def test_another_version_is_refused_with_both_numbers(tmp_path: Path) -> None:
    begin(tmp_path).close()
    path = store_path(tmp_path, "e1")
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version = 7")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"e1\.sqlite: schema version 7; this program reads"):
        begin(tmp_path)
    assert path.read_bytes() == before


def test_another_database_is_refused(tmp_path: Path) -> None:
    with sqlite3.connect(store_path(tmp_path, "e1")) as database:
        database.execute("CREATE TABLE letters (text TEXT)")
    with pytest.raises(StoreError, match="not a memory store"):
        begin(tmp_path)


def test_a_file_that_is_no_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = store_path(tmp_path, "e1")
    path.write_text("dear diary" * 100)
    with pytest.raises(StoreError, match=r"e1\.sqlite: file is not a database"):
        begin(tmp_path)
    with pytest.raises(StoreError, match="file is not a database"):
        write_file(path, Memory(layout_of(1), None).content())
    assert path.read_text().startswith("dear diary")


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    begin(tmp_path).close()
    with sqlite3.connect(store_path(tmp_path, "e1")) as database:
        database.execute(
            "UPDATE entities SET record = replace(record, 'false', '\"no way\"') WHERE id = 101"
        )
    with pytest.raises(StoreError, match=r"entities\[101\]\.picked: Input should be a valid bool"):
        begin(tmp_path)


def test_a_store_of_another_house_is_refused(tmp_path: Path) -> None:
    begin(tmp_path).close()
    with sqlite3.connect(store_path(tmp_path, "e1")) as database:
        database.execute("UPDATE meta SET value = 'cottage' WHERE key = 'house'")
    with pytest.raises(StoreError, match="belongs to house cottage, not to tables"):
        begin(tmp_path)


def test_a_folder_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot create its folder"):
        begin(tmp_path / "file" / "inside")


def test_a_copy_is_complete_and_replaces_only_a_memory(tmp_path: Path) -> None:
    memory = begin(tmp_path)
    memory.edit([add()], "test", 1.0)
    copy = tmp_path / "copy.sqlite"
    write_file(copy, memory.content())
    write_file(copy, memory.content())
    assert read_file(copy).entities == memory.snapshot().entities
    assert sorted(p.name for p in tmp_path.iterdir() if "copy" in p.name) == ["copy.sqlite"]
    other = begin(tmp_path / "other")
    other.load(read_file(copy))
    assert [e.description for e in other.snapshot().entities[3:]] == ["cup"]
    assert other.sequence == 2
    memory.close()
    other.close()


# A full disk


@pytest.fixture
def short_of_space() -> Iterator[None]:
    """Files cannot grow beyond 200 kB in this process."""
    resource = pytest.importorskip("resource")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def give_space() -> None:
    resource = pytest.importorskip("resource")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


@pytest.mark.usefixtures("short_of_space")
def test_a_full_disk_is_one_fault_and_the_list_continues(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    memory = begin(tmp_path)
    seen = Observation.at_rest(1.0)
    count = 0
    while not memory.fault:
        memory.learn(seen, [add(f"cup {'x' * 400}")], "test")
        count += 1
        assert count < 1000
    for _ in range(5):
        memory.learn(seen, [add()], "test")
    assert len(memory.snapshot().entities) == 3 + count + 5
    assert memory.sequence == count + 5
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert store_path(tmp_path, "e1").name in memory.fault
    with pytest.raises(StoreError):
        memory.save()
    # Once there is room again, everything that was missing is stored with the next change.
    give_space()
    memory.learn(seen, [add("last")], "test")
    assert memory.fault == ""
    memory.close()
    assert read_file(store_path(tmp_path, "e1")).sequence == count + 6


@pytest.mark.usefixtures("short_of_space")
def test_an_edit_by_hand_that_cannot_be_stored_is_refused_and_changes_nothing(
    tmp_path: Path,
) -> None:
    memory = begin(tmp_path)
    refused = None
    while refused is None:
        before = memory.content()
        try:
            memory.edit([add(f"cup {'x' * 400}")], "test", 1.0)
        except EditError as error:
            refused = str(error)
        assert memory.sequence < 1000
    assert "nothing was changed, as it cannot be stored" in refused
    assert memory.content() == before
    # What the robots learn meanwhile is kept, and an edit waits for no more than space.
    memory.learn(Observation.at_rest(1.0), [add("seen meanwhile")], "test")
    with pytest.raises(EditError):
        memory.edit([add("told meanwhile")], "test", 1.0)
    give_space()
    memory.edit([add("told after")], "test", 2.0)
    assert memory.fault == ""
    memory.close()
    kept = [entity.description for entity in read_file(store_path(tmp_path, "e1")).entities]
    assert kept[-2:] == ["seen meanwhile", "told after"]


def test_a_memory_whose_store_could_not_be_opened_takes_no_edits(tmp_path: Path) -> None:
    memory = Memory(layout_of(3), None, None)
    memory.edit([add()], "test", 1.0)
    memory.fault = f"{tmp_path}: no space left"
    with pytest.raises(EditError, match=r"cannot be stored: .*no space left"):
        memory.edit([add()], "test", 2.0)
    assert memory.sequence == 1


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path / "a.sqlite")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="is closed"):
        store.read()
    assert [path.name for path in tmp_path.iterdir()] == ["a.sqlite"]
