"""Retrieval of solved tasks and training samples.

PARTNR-7.6, PARTNR-7.7, PARTNR-C38 and PARTNR-C39.
"""

from __future__ import annotations

import asyncio
import importlib.util
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from planning_toys import capabilities

from planner.models.teacher import ScriptedModel
from planner.parts.calls import parse_call
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Context, Task
from planner.planning.planner_model import TOKEN
from planner.planning.solved_tasks import (
    EvaluatedError,
    SolvedTask,
    TraceStep,
    TraceStore,
    samples_of,
)
from planner.world.belief import Belief
from planner.world.embedding import HashedWords, SentenceEncoder, load_encoder
from planner.world.errors import FileError, PlannerError
from planner.world.house import House
from planner.world.skill import SUCCESS_TEXT
from planner.world.vocabulary import AgentKind

X = SolvedTask("Bring all dirty plates to the sink.", "trace of X", "run 1")
Y = SolvedTask("Put the candles on the shelf next to each other.", "trace of Y")


# ---- PARTNR-C39 -----------------------------------------------------------------------


def test_check_39_the_same_instruction_finds_its_trace(tmp_path: Path) -> None:
    with TraceStore(tmp_path / "traces.db") as store:
        store.add([X, Y])
        for task in (X, Y):
            (found,) = store.nearest(task.instruction)
            assert found.task == task
            assert found.similarity == pytest.approx(1.0, abs=1e-5)


def test_check_39_what_is_evaluated_is_never_in_the_store(tmp_path: Path) -> None:
    with TraceStore(tmp_path / "traces.db") as store:
        store.add([X, Y])
        assert store.keep_out([f"  {X.instruction}\n"]) == 1
        assert len(store) == 1
        assert store.nearest(X.instruction)[0].task == Y
        with pytest.raises(EvaluatedError, match="Bring all dirty plates"):
            store.add([Y, X])
        assert len(store) == 1
    with TraceStore(tmp_path / "traces.db") as again, pytest.raises(EvaluatedError):
        again.add([X])


def test_the_nearest_has_the_most_words_in_common(tmp_path: Path) -> None:
    with TraceStore(tmp_path / "traces.db") as store:
        store.add([X, Y])
        assert store.nearest("Place two candles next to the shelf.")[0].task == Y
        assert [f.task for f in store.nearest("dirty plate", 2)] == [X, Y]


def test_an_empty_store_has_no_example(tmp_path: Path) -> None:
    with TraceStore(tmp_path / "traces.db") as store:
        assert store.example_for("anything") == ""


class Backwards(HashedWords):
    embedder_id = "backwards"  # type: ignore[assignment]


def test_vectors_of_another_embedder_are_made_again(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with TraceStore(path) as store:
        store.add([X, Y])
    with TraceStore(path, Backwards()) as store:
        assert store.nearest(X.instruction)[0].task == X
    rows = sqlite3.connect(path).execute("SELECT DISTINCT embedder FROM trace").fetchall()
    assert rows == [("backwards",)]


@pytest.mark.parametrize("text", ["this is no database, it is text" * 50, "\x00" * 4096])
def test_a_file_that_is_no_store_is_reported(tmp_path: Path, text: str) -> None:
    path = tmp_path / "traces.db"
    path.write_text(text)
    with pytest.raises(FileError, match="is not a trace store"):
        TraceStore(path)


def test_a_database_of_other_software_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE shopping (what TEXT)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(FileError, match="database of other software"):
        TraceStore(path)
    assert path.read_bytes() == before


def test_a_store_without_an_application_id_is_read(tmp_path: Path) -> None:
    path = tmp_path / "traces.db"
    with TraceStore(path) as store:
        store.add([X])
    older = sqlite3.connect(path)
    older.execute("PRAGMA application_id = 0")
    older.close()
    with TraceStore(path) as store:
        assert store.nearest(X.instruction)[0].task == X
        store.add([Y])
        assert len(store) == 2


@pytest.mark.needs("papers")
def test_rag_puts_the_trace_between_system_and_task(tmp_path: Path, small_house: House) -> None:
    path = tmp_path / "traces.db"
    with TraceStore(path) as store:
        store.add([X, Y])
    task = Task("Put a candle on the shelf.", ("agent_0",))
    model = ScriptedModel(["Thought: no\nDone[]\nAssigned!"])
    planner = make_planner(PlannerChoice("partnr_rag", options={"traces": str(path)}), task, model)
    able = {"agent_0": capabilities(AgentKind.ROBOT)}
    context = Context(task, Belief(0.0, 0, {}), small_house, able, {}, ("agent_0",), 0.0)
    asyncio.run(planner.decide(context))
    system, user = model.asked[0]
    assert system.text.endswith("trace of Y")
    assert user.text.startswith("Task: ")


@pytest.mark.needs("papers")
def test_rag_without_its_store_says_so(tmp_path: Path) -> None:
    task, model = Task("x", ("agent_0",)), ScriptedModel([])
    with pytest.raises(PlannerError, match="needs the parameter `traces`"):
        make_planner(PlannerChoice("partnr_rag"), task, model)
    gone = tmp_path / "gone.db"
    with pytest.raises(FileError, match="there is no trace store"):
        make_planner(PlannerChoice("partnr_rag", options={"traces": str(gone)}), task, model)
    assert not gone.exists()


def test_a_trace_is_kept_once_and_found_again(tmp_path: Path) -> None:
    with TraceStore(tmp_path / "traces.db") as store:
        assert store.add([X, Y, X]) == 2
        assert store.add([X]) == 0
        assert store.add([SolvedTask(X.instruction, "another way")]) == 1
        assert store.holding([f" {X.instruction}", "Something else."]) == [f" {X.instruction}"]


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.text(max_size=60))
def test_vectors_have_length_one_or_nothing(text: str) -> None:
    (vector,) = HashedWords().embed([text])
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5) or not vector.any()
    assert (HashedWords().embed([text])[0] == vector).all()


# ---- the sentence encoder ---------------------------------------------------------------


@pytest.mark.skipif(
    importlib.util.find_spec("onnxruntime") is not None, reason="the extra `embed` is installed"
)
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match=r"pip install -e '\.\[embed\]'"):
        SentenceEncoder(tmp_path)


def _encoder_folder(folder: Path, input_name: str = "input_ids") -> np.ndarray:
    """Writes an encoder that only looks up each token's row; returns the rows."""
    from onnx import TensorProto, helper, numpy_helper

    rows = np.random.default_rng(0).normal(size=(9, 4)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("Gather", ["rows", input_name], ["last_hidden_state"])],
        "encoder",
        [helper.make_tensor_value_info(input_name, TensorProto.INT64, [1, "length"])],
        [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "length", 4])],
        [numpy_helper.from_array(rows, "rows")],
    )
    opset = helper.make_opsetid("", 13)
    model = helper.make_model(graph, ir_version=8, opset_imports=[opset])
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(model.SerializeToString())
    return rows


def _write_tokenizer(folder: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ["[UNK]", "[CLS]", "[SEP]", "bring", "the", "cup", "to", "table", "##s"]
    raw = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token=words[0]))
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.BertProcessing(("[SEP]", 2), ("[CLS]", 1))
    raw.save(str(folder / "tokenizer.json"))


needs_embed = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("onnxruntime", "tokenizers")),
    reason="the extra `embed` is not installed",
)


@needs_embed
def test_a_sentence_is_the_mean_of_its_tokens(tmp_path: Path) -> None:
    rows = _encoder_folder(tmp_path)
    _write_tokenizer(tmp_path)
    encoder = SentenceEncoder(tmp_path)
    vectors = encoder.embed(["bring the cup", "tables"])
    for vector, tokens in zip(vectors, ([1, 3, 4, 5, 2], [1, 7, 8, 2]), strict=True):
        mean = rows[tokens].mean(axis=0)
        np.testing.assert_allclose(vector, mean / np.linalg.norm(mean), atol=1e-6)
    assert len(encoder.embed([])) == 0
    with TraceStore(tmp_path / "traces.db", encoder) as store:
        store.add([X, Y])
        assert store.nearest(X.instruction)[0].similarity == pytest.approx(1.0, abs=1e-5)


@needs_embed
def test_a_file_that_is_no_encoder_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"model\.onnx"):
        SentenceEncoder(tmp_path)
    _encoder_folder(tmp_path, input_name="pixels")
    with pytest.raises(FileError, match=r"tokenizer\.json"):
        SentenceEncoder(tmp_path)
    _write_tokenizer(tmp_path)
    with pytest.raises(FileError, match=r"model\.onnx: pixels"):
        SentenceEncoder(tmp_path)
    (tmp_path / "onnx" / "model.onnx").write_bytes(b"x" * 100)
    with pytest.raises(FileError, match=r"model\.onnx"):
        SentenceEncoder(tmp_path)


def test_a_folder_is_read_by_what_is_in_it(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no onnx/model\.onnx and no config\.json"):
        load_encoder(tmp_path)
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    # An empty model, or no transformers to read it with.
    with pytest.raises(PlannerError, match=r"cannot be loaded|pip install -e '\.\[local\]'"):
        load_encoder(tmp_path)


# ---- PARTNR-C38 -----------------------------------------------------------------------


def step(agent: str, call: str, ok: bool = True, complete: bool = False) -> TraceStep:
    text = SUCCESS_TEXT if ok else "Unexpected failure! - no."
    return TraceStep(agent, parse_call(call), ok, text, complete)


def test_check_38_a_solution_lost_again_is_cut_where_it_was_solved() -> None:
    steps = [step("agent_0", f"Navigate[table_{i}]") for i in range(1, 7)]
    steps.append(step("agent_0", "Rearrange[cup_0, on, table_6, None, None]", complete=True))
    steps += [step("agent_0", f"Navigate[sofa_{i}]") for i in range(8, 13)]
    steps.append(step("agent_0", "Done[]"))
    samples = samples_of("Tidy.", "Furniture:", steps, "agent_0")
    assert [s.target for s in samples] == [str(s.call) for s in steps[:7]] + ["Done[]"]
    assert all("sofa" not in s.prompt for s in samples)


def test_check_38_failures_and_thoughts_are_absent() -> None:
    steps = [
        step("agent_0", "Pick[cup_0]", ok=False),
        step("agent_1", "Navigate[table_1]"),
        step("agent_0", "Navigate[cup_0]"),
        step("agent_0", "Pick[cup_0]"),
        step("agent_1", "Clean[table_1]", complete=True),
    ]
    samples = samples_of("Tidy.", "Furniture:", steps, "agent_0")
    assert [s.target for s in samples] == ["Navigate[cup_0]", "Pick[cup_0]", "Done[]"]
    for sample in samples:
        assert "Unexpected failure" not in sample.prompt
        assert "Thought" not in sample.prompt
        assert sample.prompt.endswith(TOKEN)
        assert TOKEN not in sample.target
    assert "Other_Agent_Action: Clean[table_1]" in samples[-1].prompt
    assert "Other_Agent_Action: Clean[table_1]\nAction Result" not in samples[-1].prompt


def test_check_38_what_was_never_solved_teaches_nothing() -> None:
    assert samples_of("Tidy.", "", [step("agent_0", "Pick[cup_0]")], "agent_0") == []


def test_a_solution_that_held_to_the_end_keeps_all() -> None:
    steps = [
        step("agent_0", "Pick[cup_0]"),
        step("agent_0", "Place[cup_0, on, table_1, None, None]", complete=True),
        step("agent_0", "Done[]", complete=True),
    ]
    targets = [s.target for s in samples_of("Tidy.", "", steps, "agent_0")]
    assert targets == ["Pick[cup_0]", "Place[cup_0, on, table_1, None, None]", "Done[]"]
