"""The limits of a task."""

from __future__ import annotations

from papers.helper.program_planner import Budget, Limit
from planner.world.skill import SkillCode, SkillName, SkillResult

FAILED = SkillResult.failure(SkillCode.TOO_FAR, "It is too far.")


def test_check_39_a_task_ends_at_step_1000_or_failure_30() -> None:
    """HELPER-C39: both reasons are told apart."""
    steps, failures = Budget(1000, 30), Budget(1000, 30)
    for _ in range(999):
        steps.count(SkillName.PICK, SkillResult.success())
    for _ in range(29):
        failures.count(SkillName.PICK, FAILED)
    assert (steps.used_up, failures.used_up) == (None, None)
    steps.count(SkillName.PICK, SkillResult.success())
    failures.count(SkillName.PICK, FAILED)
    assert (steps.used_up, failures.used_up) == (Limit.STEPS, Limit.FAILURES)
    assert steps.reason == "step limit: 1000 skill calls were made"
    assert failures.reason == "failure limit: 30 skill calls failed"


def test_what_says_nothing_about_the_task_is_no_failure() -> None:
    budget = Budget(1000, 30)
    budget.count(SkillName.PICK, SkillResult.failure(SkillCode.CANCELED, "Canceled."))
    budget.count(SkillName.DONE, SkillResult.success())
    assert (budget.steps, budget.failures) == (1, 0)
