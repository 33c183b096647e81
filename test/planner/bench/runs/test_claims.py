"""What runs say: tables, comparisons, and the eight claims of PARTNR-8."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from made_rows import made_row

from planner.bench.runs.claims import CLAIMS, ClaimResult, Role, assigned, fill, role_of
from planner.bench.runs.comparison import compare, comparison_lines, pair
from planner.bench.runs.rows import Fault, Row, RowCost, RowError
from planner.bench.runs.table import summarise, summary_lines
from planner.evaluation.progress import Mode
from planner.planning.axes import Control
from planner.world.errors import PlannerError

Rows = dict[tuple[str, int], Row]


def _run(rows: list[Row]) -> Rows:
    return {row.key: row for row in rows}


def _papers(metrics: Mapping[str, float], seconds: float = 0.0, **more: object) -> Rows:
    """A run of 100 episodes of each type whose numbers are the paper's."""
    shares = {"constraint_free": 82, "temporal": 60, "heterogeneous": 66}
    cost = RowCost(calls=10, seconds=10 * seconds)
    return _run(
        [
            made_row(
                f"{kind}_{n}",
                {**metrics, "success": float(n < share)},
                task_types=(kind,),
                cost=cost,
                **more,  # type: ignore[arg-type]
            )
            for kind, share in shares.items()
            for n in range(100)
        ]
    )


def _by_name(filled: tuple[ClaimResult, ...]) -> dict[str, ClaimResult]:
    return {found.claim.name: found for found in filled}


@pytest.mark.slow
def test_the_papers_own_numbers_give_the_papers_claims() -> None:
    """PARTNR-8, all eight derived claims, to the digits that are printed there."""
    together = _papers(
        {"sim_steps": 3295.20, "extraneous_effort": 0.21, "exploration_efficiency": 994.88}, 4.55
    )
    alone = _papers(
        {"sim_steps": 2519.02, "extraneous_effort": 0.047, "exploration_efficiency": 1121.65},
        control=Control.SINGLE,
    )
    runs = {
        "together": together,
        "alone": alone,
        "tuned": _papers({"sim_steps": 3228.96}, 0.53, planner="partnr_finetuned"),
        "hitl": _papers({"sim_steps": 3443.33}, planner="expert"),
        "two": _papers({"sim_steps": 2369.55}, planner="expert"),
        "one": _papers({"sim_steps": 3046.99}, planner="expert"),
    }
    named = {Role.HUMAN_LLM: "hitl", Role.TWO_HUMANS: "two", Role.ONE_HUMAN: "one"}
    roles = assigned(runs, named)
    assert roles[Role.DECENTRALIZED] == "together"
    assert roles[Role.SINGLE] == "alone"
    values = []
    for found in fill(runs, roles):
        assert found.estimate is not None
        assert found.estimate.value == pytest.approx(found.claim.paper)
        values.append(found.estimate.value)
    assert values == pytest.approx([1.31, 8.58, 1.45, 1.13, 0.268, 0.195, 4.47, 126.8], abs=0.05)
    assert len(CLAIMS) == 8


@pytest.mark.slow
def test_a_claim_without_its_runs_says_so() -> None:
    together = {"together": _papers({"sim_steps": 10.0})}
    filled = _by_name(fill(together, assigned(together, {})))
    assert filled["coordination burden"].missing == "no run of single"
    assert filled["temporal drop"].estimate is not None
    assert filled["extraneous effort"].estimate is None


@pytest.mark.slow
def test_drops_have_intervals() -> None:
    together = {"together": _papers({"sim_steps": 10.0})}
    drop = _by_name(fill(together, assigned(together, {})))["temporal drop"].estimate
    assert drop is not None
    assert drop.low is not None
    assert drop.high is not None
    assert drop.low < 0.268 < drop.high
    assert drop.low > 0.05


def test_runs_of_other_episodes_fill_no_claim() -> None:
    runs = {
        "together": _run([made_row("one", {"sim_steps": 10.0})]),
        "alone": _run([made_row("other", {"sim_steps": 5.0}, control=Control.SINGLE)]),
    }
    filled = _by_name(fill(runs, assigned(runs, {})))
    assert "no judged episode in common" in filled["coordination burden"].missing


def test_two_runs_for_one_role_are_refused() -> None:
    runs = {"a": _papers({}), "b": _papers({})}
    with pytest.raises(PlannerError, match=r"a and b are both runs of decentralized"):
        assigned(runs, {})
    assert assigned(runs, {Role.DECENTRALIZED: "b"}) == {Role.DECENTRALIZED: "b"}


def test_an_experts_run_has_no_role() -> None:
    assert role_of(_run([made_row("one", planner="expert")])) is None


def test_a_comparison_is_of_pairs() -> None:
    first = _run([made_row(f"e{n}", {"success": 0.0, "sim_steps": 100.0}) for n in range(8)])
    second = _run(
        [made_row(f"e{n}", {"success": float(n < 6), "sim_steps": 90.0}) for n in range(7)]
    )
    pairing = pair(first, second)
    assert (len(pairing.both), pairing.only_first, pairing.only_second) == (7, 1, 0)
    found = {c.metric.name: c for c in compare(first, second)}
    success = found["success"].comparison
    assert (success.better, success.worse, success.test) == (6, 0, "mcnemar_exact")
    assert success.p == pytest.approx(2 * 0.5**6)
    assert found["sim_steps"].comparison.difference.value == -10.0


def _repeated(solved: str, seeds: int, **more: object) -> Rows:
    """A run of tasks, each solved with all its seeds (1) or with none (0)."""
    return _run(
        [
            made_row(f"e{n}", {"success": float(c), "sim_steps": 100.0 + n}, seed=seed, **more)  # type: ignore[arg-type]
            for n, c in enumerate(solved)
            for seed in range(seeds)
        ]
    )


def test_seeds_of_a_task_are_one_task_in_every_table() -> None:
    """A task's seeds that all end alike add nothing: neither to intervals nor to tests."""
    once, often = (_repeated("1110100010", seeds) for seeds in (1, 8))
    tables = [
        {line.name: line.estimate for line in summarise(r.values()).lines} for r in (once, often)
    ]
    for name in ("success", "sim_steps"):
        one, many = (table[name] for table in tables)
        assert (many.n, many.value) == (10, one.value)
        assert (many.low, many.high) == pytest.approx((one.low, one.high))
    others = [_repeated("0000000010", seeds) for seeds in (1, 8)]
    one, many = (
        {c.metric.name: c for c in compare(a, b)}["success"]
        for a, b in zip((once, often), others, strict=True)
    )
    assert (many.second, many.comparison.difference) == (one.second, one.comparison.difference)
    assert (many.comparison.worse, many.comparison.p) == (4, pytest.approx(one.comparison.p))
    alone = {"steps": _repeated("1" * 10, 8, control=Control.SINGLE)}
    claims = [
        _by_name(fill(runs, assigned(runs, {})))["coordination burden"].estimate
        for runs in (
            {"together": often, **alone},
            {"together": once, "steps": _repeated("1" * 10, 1, control=Control.SINGLE)},
        )
    ]
    assert claims[0] is not None
    assert claims[0] == claims[1]


def test_tables_say_how_many_tasks_and_seeds() -> None:
    rows = _repeated("101", 4)
    assert (
        "12 episodes of 3 tasks with 4 seeds each, 12" in summary_lines(summarise(rows.values()))[0]
    )
    lines = comparison_lines(pair(rows, _repeated("111", 2)), compare(rows, _repeated("111", 2)))
    assert (
        "6 episodes in both runs, of 3 tasks with 2 seeds each; left out: 6 only in A" in lines[0]
    )
    (success,) = (line.split() for line in lines if line.startswith("success "))
    assert success[8] == "3"


def test_runs_by_other_rules_are_not_compared() -> None:
    first = _run([made_row("one")])
    second = _run([made_row("one", mode=Mode.PARTNR_V0)])
    with pytest.raises(PlannerError, match="judged by different rules"):
        pair(first, second)


def test_a_table_counts_what_has_no_verdict() -> None:
    error = RowError(fault=Fault.CRASH, text="oops")
    rows = [made_row("one"), made_row("one", seed=2), made_row("two", error=error)]
    summary = summarise(rows)
    assert (summary.rows, summary.judged, summary.tasks) == (3, 2, 2)
    (success,) = (line for line in summary.lines if line.name == "success")
    assert (success.estimate.value, success.estimate.n) == (1.0, 1)
    assert success.estimate.low == pytest.approx(0.025)
    text = "\n".join(summary_lines(summary))
    assert "3 episodes of 2 tasks with 1 to 2 seeds, 2 judged" in text
    assert "no verdict: crash 1" in text


def test_a_table_pools_ratios_of_sums() -> None:
    portions = [{"weighted_success": (5.0, 10.0)}, {"weighted_success": (0.0, 30.0)}, {}]
    rows = [
        made_row(f"e{i}").model_copy(update={"portions": found}) for i, found in enumerate(portions)
    ]
    found = {line.name: line for line in summarise(rows).lines}["weighted_success"]
    assert (found.estimate.value, found.estimate.n, found.paper) == (0.125, 2, "TEACh")


def test_a_table_of_nothing_is_a_table() -> None:
    assert "0 episodes, 0 judged" in summary_lines(summarise([]))[0]
