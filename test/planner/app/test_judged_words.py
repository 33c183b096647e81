"""Runs that are judged by what their planner has understood so far."""

from __future__ import annotations

from planner.app.judged_words import WordsEvaluator
from planner.evaluation.trace_builder import TraceBuilder
from planner.world.house import House
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import default_options
from sim_bridge.opening import bare_episode

ON_COUCH = {"on_top": {"the": "couch"}}


def test_the_trace_counts_what_was_understood_last(small_house: House) -> None:
    """An answer may add a part to the goal; what counted before has fewer parts."""
    episode = bare_episode(small_house, 1)
    backend = EmbeddedBackend(default_options().model_copy(update={"renderer": "none"}))
    backend.reset(small_house, episode, 1)
    state = backend.world_state()
    backend.close()
    assert state is not None
    builder = TraceBuilder()
    judge = WordsEvaluator(small_house, state, "agent_0", builder)
    judge.take_goal({"understood": [{"move": {"the": "cup"}, "to": ON_COUCH}]})
    judge.take_goal({"understood": [{"move": [{"the": "cup"}, {"the": "book"}], "to": ON_COUCH}]})
    trace = builder.finish(episode, judge.finish())
    assert len(trace.episode.propositions) == 2
    assert [line.satisfied for line in trace.progress] == [(False, False)]
