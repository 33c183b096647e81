"""The updaters by their names, as the node, the bring-up and the bench make them."""

from __future__ import annotations

from pathlib import Path

import pytest
from memory_samples import layout_of

from planner.bringup import MEMORIES_THAT_SEE
from planner.memory.seeing import BASELINES, Seeing, SeeingModel, load_seeing, needs_truth
from planner.world.errors import PlannerError


def test_the_bring_up_offers_all_of_them() -> None:
    assert [*MEMORIES_THAT_SEE] == [kind.value for kind in Seeing]


@pytest.mark.parametrize("kind", [Seeing.LEARNED, *BASELINES])
def test_those_that_need_no_model_have_the_name_they_are_asked_by(kind: Seeing) -> None:
    assert load_seeing(kind, class_of={1: "cup"}.get)(layout_of(1)).name == kind.value
    assert needs_truth(kind, SeeingModel()) == (kind is not Seeing.LEARNED)
    assert not needs_truth(kind, SeeingModel(model="a_folder"))


def test_a_server_is_asked_by_vlm_alone() -> None:
    model = SeeingModel(model="tiny", url="http://127.0.0.1:9/v1")
    assert load_seeing(Seeing.VLM, model)(layout_of(1)).name == "vlm"
    with pytest.raises(PlannerError, match="takes no server"):
        load_seeing(Seeing.LEARNED, model)
    with pytest.raises(PlannerError, match="needs the server's name"):
        load_seeing(Seeing.VLM, SeeingModel(url=model.url))


@pytest.mark.parametrize("kind", list(Seeing))
def test_a_missing_model_is_one_clear_error(kind: Seeing, tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match=r"needs? the extra|holds no model|cannot be"):
        load_seeing(kind, SeeingModel(model=str(tmp_path)))
    if kind in BASELINES:
        with pytest.raises(PlannerError, match="ground-truth classes"):
            load_seeing(kind)
    if kind in (Seeing.VLM, Seeing.OPEN_VOCABULARY):
        with pytest.raises(PlannerError, match=f"the memory {kind} needs a model"):
            load_seeing(kind)
