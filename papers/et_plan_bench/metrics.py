"""ET-Plan-Bench's metrics of one episode (ETPLAN-5)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from planner.evaluation.metrics.metric import (
    COMPLETE_AT_START,
    NOT_SUCCESSFUL,
    Kind,
    Measure,
    Metric,
    attempts,
    by_name,
)
from planner.evaluation.trace import EpisodeTrace

NO_TRUTH = "no ground truth was given"
_TURNS = frozenset({"lookround", "rotate", "lookup", "lookdown"})
_NUMBER = re.compile(r"_\d+$")


def actions(trace: EpisodeTrace) -> tuple[str, ...]:
    """The agents' actions as text, equal if verb and entities are equal.

    A call that failed changed nothing and is not an action, nor is turning round (ETPLAN-C16).
    """
    called = (_words(line.call) for line in attempts(trace) if line.succeeded)
    return tuple(words for words in called if words.split(" ")[0] not in _TURNS)


def criteria_success(trace: EpisodeTrace) -> Measure:
    """Success: 1 if the criteria are met (ETPLAN-5); its mean is the rate.

    Vacuous if they were met in the first state.
    """
    if trace.end.criteria is None:
        return Measure(None, "no criteria were given")
    if trace.progress and trace.end.criteria_step == trace.progress[0].step:
        return Measure(None, COMPLETE_AT_START)
    return Measure(float(trace.end.criteria))


def sequence_length(trace: EpisodeTrace) -> Measure:
    """Sequence length: len(a_e) if the episode succeeded, else M (ETPLAN-5)."""
    if _succeeded(trace):
        return Measure(float(len(actions(trace))))
    limit = trace.episode.reference.most_actions
    return Measure(None, "no limit M was given") if limit is None else Measure(float(limit))


def lcs_length(trace: EpisodeTrace) -> Measure:
    """LCS(a_e, g_e): the longest common subsequence with the ground truth's actions.

    ETPLAN-5; failed episodes count as well. Entities of which the task names the class only are
    equal.
    """
    truth = _truth(trace)
    if not truth:
        return Measure(None, NO_TRUTH)
    alike = {
        name.casefold(): group[0].casefold()
        for group in trace.episode.reference.alike
        for name in group
    }
    did, truth = (_exchanged(plan, alike) for plan in (actions(trace), truth))
    return Measure(float(longest_common_subsequence(did, truth)))


def lcs_ratio(trace: EpisodeTrace) -> Measure:
    """LCS(a_e, g_e) / len(g_e) of an episode (ETPLAN-5)."""
    length = lcs_length(trace)
    if length.value is None:
        return length
    return Measure(length.value / len(_truth(trace)))


def lcs_ratio_published(trace: EpisodeTrace) -> Measure:
    """The LCS ratio of the public code, for comparison with published numbers (ETPLAN-5).

    Actions are equal if verb and classes are equal, for any entities of a class. The ratio is 1 if
    there are fewer actions than in the ground truth (DEFECT-D6).
    """
    did, truth = actions(trace), _truth(trace)
    if not truth:
        return Measure(None, NO_TRUTH)
    if len(did) < len(truth):
        return Measure(1.0)
    length = longest_common_subsequence(
        [_classes(action) for action in did], [_classes(action) for action in truth]
    )
    return Measure(length / len(truth))


def moving_distance(trace: EpisodeTrace) -> Measure:
    """Moving distance: sum over t of |p_(t+1) - p_t| of all agents, metres.

    ETPLAN-5; for successful episodes only, undefined if there are none.
    """
    if not _succeeded(trace):
        return Measure(None, NOT_SUCCESSFUL)
    if not trace.moves:
        return Measure(None, "no positions were recorded")
    last: dict[str, tuple[float, float]] = {}
    total = 0.0
    for move in trace.moves:
        at = (move.x_m, move.y_m)
        total += math.dist(last.get(move.agent, at), at)
        last[move.agent] = at
    return Measure(total)


def longest_common_subsequence(a: Sequence[str], b: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    row = [0] * (len(b) + 1)
    for one in a:
        diagonal = 0
        for j, other in enumerate(b, start=1):
            above = row[j]
            row[j] = diagonal + 1 if one == other else max(above, row[j - 1])
            diagonal = above
    return row[-1]


def _truth(trace: EpisodeTrace) -> tuple[str, ...]:
    return tuple(_words(action) for action in trace.episode.reference.actions)


def _exchanged(plan: Sequence[str], alike: Mapping[str, str]) -> tuple[str, ...]:
    """A plan with one entity for all that are alike."""
    return tuple(" ".join(alike.get(word, word) for word in one.split()) for one in plan)


def _succeeded(trace: EpisodeTrace) -> bool:
    """Success by the criteria, or by the propositions if there are no criteria."""
    return trace.end.success if trace.end.criteria is None else trace.end.criteria


def _words(text: str) -> str:
    """One spelling for `WALK apple` or `Navigate[apple_0]`.

    For Place, the reference object is not part of the action.
    """
    words = text.replace("[", " ").replace("]", " ").replace(",", " ").casefold().split()
    return " ".join(words[:4] if words[:1] == ["place"] else words)


def _classes(action: str) -> str:
    """An action with classes instead of entities, as `pick apple` of `pick apple_0`."""
    return " ".join(_NUMBER.sub("", word) for word in action.split())


METRICS = by_name(
    Metric("criteria_success", "ET-Plan-Bench", Kind.RATE, criteria_success),
    Metric("sequence_length", "ET-Plan-Bench", Kind.MEAN, sequence_length),
    Metric("lcs_length", "ET-Plan-Bench", Kind.MEAN, lcs_length),
    Metric("lcs_ratio", "ET-Plan-Bench", Kind.SHARE, lcs_ratio),
    Metric("lcs_ratio_published", "ET-Plan-Bench", Kind.SHARE, lcs_ratio_published),
    Metric("moving_distance", "ET-Plan-Bench", Kind.MEAN, moving_distance),
)
