"""How well a language model in this process ranks rooms and furniture, by the agent's prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from planner.models.in_process import InProcessModel
from planner.planning.et_agent.frequencies import read_frequencies, shipped_frequencies_file
from planner.planning.et_agent.model_ranker import ModelRanker
from planner.planning.et_agent.table_ranker import TableRanker
from planner.training.ranking_model import orders_of
from planner.training.ranking_samples import HouseTruth
from planner.training.ranking_scores import score_ranking
from planner.world.errors import PlannerError


def rank_by_model(
    folder: Path,
    houses: Sequence[HouseTruth],
    *,
    adapter: Path | None = None,
    device: str = "cpu",
    questions: int = 0,
) -> dict[str, object]:
    """Asks a model for rankings, and scores them.

    Args:
        folder: of the model.
        houses: in which it is asked.
        adapter: folder of a LoRA adapter.
        device: torch device.
        questions: classes that are asked about in each house; 0 = all.

    Returns:
        The scores of rooms and furniture, and how many replies could not be read.

    Raises:
        ModelError: for a folder without a model, or a model that fails.
    """
    if questions < 0:
        raise PlannerError(f"questions: expected at least 0, got {questions}")
    model = InProcessModel(folder, device=device, adapter=adapter)
    usual = TableRanker(read_frequencies(shipped_frequencies_file()))
    ranker = ModelRanker("et_agent", model, ("agent_0",), usual)
    asked = [
        replace(house, things=dict(sorted(house.things.items())[: questions or None]))
        for house in houses
    ]
    try:
        scores = score_ranking(asked, *orders_of(ranker))
    finally:
        asyncio.run(model.close())
    return {**scores.record(), "unread": ranker.unread}
