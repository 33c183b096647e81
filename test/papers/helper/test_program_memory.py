"""The program memory: search, growth, its file (HELPER-C1 to HELPER-C8, HELPER-D20)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from papers.helper.program_memory import ProgramMemory, VectorSearch
from papers.helper.program_store import (
    FIRST_LEARNED,
    CorrectionKey,
    EvaluatedError,
    ProgramRecord,
    ProgramStore,
    RecordKind,
    UnconfirmedError,
    read_records,
    shipped_records,
)
from papers.helper.programs.program import Instance, ProgramError, default_vocabulary
from planner.world.embedding import Vectors
from planner.world.errors import FileError, PlannerError

PLAN, CORRECTION = RecordKind.PLAN, RecordKind.CORRECTION
PROGRAM = 'mug = InteractionObject("Mug")\nmug.go_to()\n'
OTHER_PROGRAM = 'cup = InteractionObject("Cup")\ncup.go_to()\n'
REPAIR = "agent = AgentCorrective()\nagent.move_back()\n"


def plan(key: str, program: str = PROGRAM, **fields: object) -> ProgramRecord:
    return replace(ProgramRecord(0, PLAN, key, program, confirmed=True), **fields)  # type: ignore[arg-type]


def correction(key: str, failure: str = "It is too far.") -> ProgramRecord:
    return ProgramRecord(0, CORRECTION, key, REPAIR, confirmed=True, failure=failure)


class Placed:
    """An encoder that puts texts where the test says, and notes what it was asked."""

    embedder_id = "placed"

    def __init__(self, places: Mapping[str, Sequence[float]]) -> None:
        self.places = places
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        return np.array([self.places[text] for text in texts], np.float32).reshape(len(texts), -1)


def placed(places: Mapping[str, Sequence[float]]) -> ProgramMemory:
    """A memory of one plan for each key but "query"."""
    memory = ProgramMemory(ProgramStore(None), Placed(places), shipped=())
    for key in places:
        if key != "query":
            memory.add(plan(key))
    return memory


def keys(found: Sequence[tuple[float, ProgramRecord]]) -> list[str]:
    return [record.key for _, record in found]


# ---- HELPER-8 -------------------------------------------------------------------------


def test_check_1_the_three_nearest_come_in_the_order_of_their_distance() -> None:
    places = {"a": (0, 0), "b": (3, 4), "c": (1, 0), "d": (10, 0), "query": (0, 0)}
    with placed(places) as memory:
        found = memory.nearest("query", PLAN)
    assert keys(found) == ["a", "c", "b"]
    assert [distance for distance, _ in found] == pytest.approx([0.0, 1.0, 5.0])


def test_check_2_distance_decides_and_not_the_angle() -> None:
    with placed({"p": (10, 0), "q": (0.5, 0.5), "query": (1, 0)}) as memory:
        assert keys(memory.nearest("query", PLAN, 1)) == ["q"]


def test_check_3_fewer_records_than_asked_for() -> None:
    with placed({"a": (0, 1), "b": (1, 0), "query": (0, 0)}) as memory:
        assert keys(memory.nearest("query", PLAN, 3)) == ["a", "b"]
        assert memory.nearest("query", CORRECTION, 3) == ()
    with placed({"query": (0, 0)}) as empty:
        assert empty.nearest("query", PLAN, 3) == ()


def test_check_4_only_the_language_is_embedded() -> None:
    encoder = Placed({"a": (3, 4), "query": (0, 0)})
    distances = []
    for program in (PROGRAM, OTHER_PROGRAM):
        with ProgramMemory(ProgramStore(None), encoder, shipped=()) as memory:
            memory.add(plan("a", program))
            ((distance, record),) = memory.nearest("query", PLAN)
            assert record.program == program
            distances.append(distance)
    assert distances == [5.0, 5.0]
    assert set(encoder.asked) == {"a", "query"}


def test_check_5_without_retrieval_the_examples_are_the_same_for_each_dialogue() -> None:
    with ProgramMemory.open(None, fixed=True) as fixed, ProgramMemory.open(None) as memory:
        for kind in RecordKind:
            first, second = (
                [record for _, record in fixed.nearest(text, kind)]
                for text in ("Make me a coffee.", "Water the plant in the bedroom.")
            )
            assert first == second == memory.records(kind)[:3]
        learned = fixed.add(plan("Water the plant in the bedroom."))
        found = fixed.nearest("Water the plant in the bedroom.", PLAN)
        assert learned not in [record for _, record in found]
        coffee = [record for _, record in memory.nearest("Make me a coffee.", PLAN)]
        water = [record for _, record in memory.nearest("Water the plant in the bedroom.", PLAN)]
        assert coffee != water


def test_check_6_it_grows_by_what_was_confirmed_only(tmp_path: Path) -> None:
    said = "<Commander> Make me the Mary coffee."
    with ProgramMemory.open(tmp_path / "programs.sqlite") as memory:
        before = len(memory)
        with pytest.raises(UnconfirmedError, match="Mary coffee"):
            memory.add(plan(said, confirmed=False))
        assert len(memory) == before
        kept = memory.add(plan(said, person="Mary", when_s=12.5, source="run 1"))
        assert len(memory) == before + 1
        assert kept.key == said
        assert memory.record(kept.id) == kept


_TEACH = """
import sys
from pathlib import Path
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
said = sys.argv[2]
with ProgramMemory.open(Path(sys.argv[1])) as memory:
    program = memory.records(RecordKind.PLAN)[5].program
    print(memory.add(ProgramRecord(0, RecordKind.PLAN, said, program, confirmed=True)).id)
"""


@pytest.mark.slow
def test_check_7_a_routine_is_found_by_its_name_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "programs.sqlite"
    said = (
        "<Driver> What shall I do? <Commander> Today is the Mary cleaning: two plates and two cups"
        " have to be clean, use the sink."
    )
    told = subprocess.run(
        [sys.executable, "-c", _TEACH, path, said], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == str(FIRST_LEARNED)
    with ProgramMemory.open(path) as memory:
        assert said in keys(memory.nearest("<Commander> Do the Mary cleaning, please.", PLAN))


def test_check_8_kinds_do_not_mix() -> None:
    words = "<Commander> Put the bowl on the table."
    with ProgramMemory.open(None) as memory:
        memory.add(plan(words))
        memory.add(correction(words))
        for kind in RecordKind:
            found = [record for _, record in memory.nearest(words, kind, failure="It is too far.")]
            assert len(found) == 3
            assert {record.kind for record in found} == {kind}
            assert found[0].key == words


# ---- search ---------------------------------------------------------------------------


def test_equal_distances_come_in_the_order_of_learning() -> None:
    with placed({"b": (1, 0), "a": (0, 1), "c": (-1, 0), "query": (0, 0)}) as memory:
        assert keys(memory.nearest("query", PLAN)) == ["b", "a", "c"]
        memory.forget(FIRST_LEARNED)
        memory.add(plan("b"))
        assert keys(memory.nearest("query", PLAN)) == ["a", "c", "b"]


_small = st.integers(-3, 3)


@given(
    st.lists(st.tuples(_small, _small), max_size=30), st.tuples(_small, _small), st.integers(0, 9)
)
def test_the_search_is_exact(
    points: list[tuple[int, int]], query: tuple[int, int], count: int
) -> None:
    search = VectorSearch()
    for number, point in enumerate(points):
        search.add([number], np.array([point], np.float32))
    found = search.nearest(np.array(query, np.float32), count)
    expected = sorted(
        (float(np.hypot(x - query[0], y - query[1])), n) for n, (x, y) in enumerate(points)
    )
    assert [number for _, number in found] == [number for _, number in expected[:count]]
    assert [apart for apart, _ in found] == pytest.approx([apart for apart, _ in expected[:count]])


def test_nearly_equal_distances_are_told_apart_in_double_precision() -> None:
    rows = np.full((50, 64), 100.0, np.float32)
    rows[:, 0] += np.linspace(0.5, 0.0, 50, dtype=np.float32)
    search = VectorSearch()
    search.add(range(50), rows)
    query = np.full(64, 100.0, np.float32)
    assert [number for _, number in search.nearest(query, 5)] == [49, 48, 47, 46, 45]


@pytest.mark.parametrize(
    ("form", "nearest"),
    [
        (CorrectionKey.BOTH, "Open the box.\nIt is too far."),
        (CorrectionKey.FAILURE, "It is too far."),
        (CorrectionKey.DIALOGUE, "Open the box."),
    ],
)
def test_corrections_are_found_by_dialogue_and_failure(form: CorrectionKey, nearest: str) -> None:
    encoder = Placed({nearest: (0, 0)})
    with ProgramMemory(ProgramStore(None), encoder, shipped=(), correction_key=form) as memory:
        memory.add(correction("Open the box."))
        memory.nearest("Open the box.", CORRECTION, failure="It is too far.")
    assert encoder.asked == [nearest, nearest]


# ---- growth ---------------------------------------------------------------------------


def test_what_is_known_is_not_learned_twice() -> None:
    with ProgramMemory.open(None) as memory:
        first = memory.add(plan("Make  the Mary\ncoffee."))
        assert first.key == "Make the Mary coffee."
        assert memory.add(plan("Make the Mary coffee.")).id == first.id
        assert memory.add(plan("Make the Mary coffee.", OTHER_PROGRAM)).id == first.id + 1
        assert memory.add(plan("Make the Mary coffee.", person="Ben")).id == first.id + 2
        found = memory.nearest("Make the Mary coffee.", PLAN, 3)
        assert [record.id for _, record in found] == [first.id, first.id + 1, first.id + 2]


def test_what_is_evaluated_is_never_learned() -> None:
    with ProgramMemory.open(None) as memory:
        kept = memory.add(plan("Make the Mary coffee."))
        memory.nearest("Make the Mary coffee.", PLAN)
        assert memory.keep_out(["Make the  Mary coffee.\n", "Make the Ben tea."]) == 1
        assert kept.id not in [r.id for _, r in memory.nearest("Make the Mary coffee.", PLAN, 99)]
        for said in ("Make the Mary coffee.", " Make the Ben tea."):
            with pytest.raises(EvaluatedError, match="instruction of an evaluation"):
                memory.add(plan(said))
        assert len(memory) == len(shipped_records())


@pytest.mark.parametrize(
    ("record", "says"),
    [
        (plan(" \n"), "key: a record needs the words"),
        (plan("x" * 20_001), "key: has 20001 characters, at most 20000"),
        (plan("x", person="p" * 1001), "person: has 1001 characters"),
        (plan("x", failure="It is too far."), "failure: only a correction has one"),
        (plan("x", when_s=float("nan")), "when_s: nan"),
        (correction("x", ""), "failure: a correction needs"),
    ],
)
def test_a_record_that_is_out_of_bounds_is_refused(record: ProgramRecord, says: str) -> None:
    with ProgramMemory.open(None) as memory:
        with pytest.raises(PlannerError, match=says):
            memory.add(record)
        assert len(memory) == len(shipped_records())


@pytest.mark.parametrize("program", ["import os", "mug.go_to()", "", "do_nothing()"])
def test_what_is_no_program_is_refused(program: str) -> None:
    with ProgramMemory.open(None) as memory, pytest.raises(ProgramError):
        memory.add(plan("Make a coffee.", program))


def test_forgetting() -> None:
    with ProgramMemory.open(None) as memory:
        ids = [memory.add(plan(f"The {n}.", person=n)).id for n in ("Ann", "Ben", "Ann ")]
        memory.nearest("The Ben.", PLAN)
        assert memory.forget(ids[1]).person == "Ben"
        assert ids[1] not in [record.id for _, record in memory.nearest("The Ben.", PLAN, 99)]
        with pytest.raises(PlannerError, match=f"no record {ids[1]}"):
            memory.forget(ids[1])
        with pytest.raises(PlannerError, match="1 is a shipped example"):
            memory.forget(1)
        assert memory.forget_person("Ann") == 2
        assert len(memory) == len(shipped_records())
        assert memory.add(plan("The Cox.")).id > max(ids)


class Grows(RuleBasedStateMachine):
    """The memory beside a list that does the same."""

    def __init__(self) -> None:
        super().__init__()
        self.memory = ProgramMemory.open(None)
        self.other: dict[int, ProgramRecord] = {}
        self.evaluated: set[str] = set()

    @rule(word=st.sampled_from("abcdef"), person=st.sampled_from(("", "Ann")))
    def add(self, word: str, person: str) -> None:
        record = plan(f"The {word}.", person=person)
        if word in self.evaluated:
            with pytest.raises(EvaluatedError):
                self.memory.add(record)
        else:
            kept = self.memory.add(record)
            self.other.setdefault(kept.id, kept)

    @rule(place=st.integers(0, 20))
    def forget(self, place: int) -> None:
        if self.other:
            number = sorted(self.other)[place % len(self.other)]
            assert self.memory.forget(number) == self.other.pop(number)

    @rule(word=st.sampled_from("ef"))
    def keep_out(self, word: str) -> None:
        gone = [number for number, r in self.other.items() if r.key == f"The {word}."]
        assert self.memory.keep_out([f"The {word}."]) == len(gone)
        self.evaluated.add(word)
        for number in gone:
            del self.other[number]

    @rule(word=st.sampled_from("abcdef"))
    def nearest(self, word: str) -> None:
        found = self.memory.nearest(f"The {word}.", PLAN, 999)
        learned = {r.id: r for _, r in found if r.id >= FIRST_LEARNED}
        assert learned == self.other
        assert all((a, x.id) <= (b, y.id) for (a, x), (b, y) in pairwise(found))

    @invariant()
    def same(self) -> None:
        assert [r for r in self.memory.records() if r.id >= FIRST_LEARNED] == sorted(
            self.other.values(), key=lambda record: record.id
        )

    def teardown(self) -> None:
        self.memory.close()


def test_any_sequence_of_learning_and_forgetting() -> None:
    run_state_machine_as_test(
        Grows,
        settings=settings(
            max_examples=15,
            stateful_step_count=15,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


# ---- the file -------------------------------------------------------------------------


class Elsewhere(Placed):
    embedder_id = "elsewhere"


def test_another_encoder_makes_its_own_vectors(tmp_path: Path) -> None:
    path = tmp_path / "programs.sqlite"
    first, second = Placed({"a": (0, 1), "b": (9, 9)}), Elsewhere({"a": (5, 5, 5), "b": (0, 0, 1)})
    with ProgramMemory(ProgramStore(path), first, shipped=()) as memory:
        memory.add(plan("a"))
        memory.add(plan("b"))
    for _ in range(2):
        with ProgramMemory(ProgramStore(path), second, shipped=()) as memory:
            assert keys(memory.nearest("b", PLAN)) == ["b", "a"]
    assert sorted(second.asked) == ["a", "b", "b", "b"]
    with ProgramMemory(ProgramStore(path), first, shipped=()) as memory:
        assert keys(memory.nearest("a", PLAN)) == ["a", "b"]
    assert first.asked == ["a", "b", "a"]


def test_two_open_memories_see_what_the_other_learns(tmp_path: Path) -> None:
    path = tmp_path / "programs.sqlite"
    with ProgramMemory.open(path) as one, ProgramMemory.open(path) as two:
        one.add(plan("Make the Mary coffee."))
        assert keys(two.nearest("Make the Mary coffee.", PLAN, 1)) == ["Make the Mary coffee."]
        two.add(plan("Make the Ben tea."))
        assert keys(one.nearest("Make the Ben tea.", PLAN, 1)) == ["Make the Ben tea."]
        two.forget(FIRST_LEARNED)
        assert "Make the Mary coffee." not in keys(one.nearest("Make the Mary coffee.", PLAN, 99))


def test_an_import_is_all_or_nothing(tmp_path: Path) -> None:
    out = tmp_path / "programs.yaml"
    with ProgramMemory.open(tmp_path / "programs.sqlite") as memory:
        memory.add(plan("Make the Mary coffee.", person="Mary", when_s=1.5, source="run 1"))
        memory.add(correction("Open the box."))
        assert memory.export(out) == 2
        kept = [record for record in memory.records() if record.id >= FIRST_LEARNED]
    assert [replace(record, id=0) for record in kept] == list(read_records(out))
    with ProgramMemory.open(None) as memory:
        assert (memory.import_(out), memory.import_(out)) == (2, 0)
        assert keys(memory.nearest("Make the Mary coffee.", PLAN, 1)) == ["Make the Mary coffee."]
    out.write_text(out.read_text().replace("agent.move_back()", "agent.fly()"))
    with ProgramMemory.open(None) as memory:
        with pytest.raises(FileError, match=r"programs\.yaml: records\.1: program: line 2"):
            memory.import_(out)
        assert len(memory) == len(shipped_records())


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("version: 1", "version: 2", "version"),
        ("confirmed: true", "confirmed: false", r"records\.0: the program memory keeps"),
        ("kind: plan", "kind: idea", r"records\.0\.kind"),
        ("person:", "persona:", r"records\.0\.persona"),
    ],
)
def test_a_file_that_is_no_export_is_refused(tmp_path: Path, old: str, new: str, says: str) -> None:
    out = tmp_path / "programs.yaml"
    with ProgramMemory.open(None) as memory:
        memory.add(plan("Make the Mary coffee."))
        memory.export(out)
        out.write_text(out.read_text().replace(old, new))
        with pytest.raises(FileError, match=says):
            memory.import_(out)


# ---- what ships -----------------------------------------------------------------------


def test_enough_ships_and_each_is_found_by_its_own_words() -> None:
    with ProgramMemory.open(None) as memory:
        assert len(memory.records(PLAN)) >= 30
        assert len(memory.records(CORRECTION)) >= 12
        for record in memory.records():
            found = memory.nearest(record.key, record.kind, 1, failure=record.failure)
            assert [one.id for _, one in found] == [record.id]
            assert found[0][0] == pytest.approx(0.0, abs=1e-6)


def test_what_ships_names_only_what_houses_can_have() -> None:
    known = default_vocabulary()
    for record in shipped_records():
        for one in record.parsed().statements:
            if isinstance(one, Instance):
                for name in filter(None, (one.class_name, one.landmark)):
                    assert known.classes_of(name), (record.id, name)
