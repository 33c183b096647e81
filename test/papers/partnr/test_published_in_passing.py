"""Mode partnr_v0, in which every step is looked at as a whole."""

from __future__ import annotations

import pytest
from random_cases import random_cases
from random_tasks import CASES, STREAMS, THINGS, move, tasks

from papers.partnr.published_judge import PublishedError, PublishedJudge
from planner.evaluation.evaluator import Evaluator
from planner.evaluation.language import read_evaluation
from planner.evaluation.progress import Mode
from planner.evaluation.scene import Scene
from planner.world.states import default_states


def looked_at_anew(evaluation, scenes):
    """Which propositions count after each scene, and last "error" where there is no result."""
    judge = PublishedJudge(evaluation)
    for step, scene in enumerate(scenes):
        watches = [judge.watch(proposition, scene) for proposition in judge.propositions]
        judge.advance(step, watches)
        try:
            yield [standing.reason is None for standing in judge.statuses(watches)]
        except PublishedError:
            yield "error"
            return


def looked_at_in_passing(evaluation, house, states):
    """The same of the states by an evaluator, which only looks at what changed."""
    evaluator = None
    try:
        evaluator = Evaluator(evaluation, house, states[0], Mode.PUBLISHED)
        yield [q.satisfied for q in evaluator.progress.propositions]
        for state in states[1:]:
            now = evaluator.update(state)
            assert now.mode == "partnr_v0"
            yield [q.satisfied for q in now.propositions]
            assert now.percent_complete == pytest.approx(
                sum(q.satisfied for q in now.propositions) / len(now.propositions)
            )
    except PublishedError:
        yield "error"
        if evaluator is not None:
            with pytest.raises(PublishedError):
                evaluator.finish()


@pytest.mark.slow
@random_cases(50, CASES // 2, tasks(), STREAMS)
def test_compat_misses_nothing_of_what_it_does_not_look_at(make_lab, document, stream) -> None:
    # That the judge itself is right is in test_published_table.py.
    evaluation = read_evaluation(document, "random")
    lab = make_lab(THINGS, tuple(default_states().affordances))
    states, scenes, shown = [lab.state()], [Scene(lab.house, lab.entities)], [0]
    for moves, steps in stream:
        scenes += [scenes[-1]] * (steps - 1)
        for thing, place in moves:
            move(lab, thing, place)
        states.append(lab.state(steps))
        shown.append(len(scenes))
        scenes.append(Scene(lab.house, lab.entities))
    anew = list(looked_at_anew(evaluation, scenes))
    expected = [anew[step] for step in shown if step < len(anew)]
    if len(anew) < len(scenes) and expected[-1:] != ["error"]:
        expected.append("error")
    assert list(looked_at_in_passing(evaluation, lab.house, states)) == expected
