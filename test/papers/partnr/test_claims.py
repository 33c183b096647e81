"""What runs say: tables, comparisons, and the eight claims of PARTNR-8."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from chat_server import chat_server
from made_rows import made_row

from papers.partnr.claims import (
    BASELINES,
    CLAIMS,
    ClaimResult,
    Role,
    assigned,
    fill,
    role_of,
    row_keys,
    table_lines,
)
from planner.bench.runs.comparison import compare, comparison_lines, pair
from planner.bench.runs.paper import Run
from planner.bench.runs.rows import ROWS_NAME, Fault, Row, RowCost, RowError, newest_rows
from planner.bench.runs.settings import RunSettings
from planner.bench.runs.table import summarise, summary_lines
from planner.cli import main
from planner.evaluation.progress import Mode
from planner.planning.planner_model import Control, MemorySource, Observability
from planner.skills.kind import SkillKind
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
    second = _run([made_row("one", mode=Mode.PUBLISHED)])
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


def made_run(
    planner: str,
    suite: str = "partnr_val",
    control: Control = Control.DECENTRALIZED,
    skills: SkillKind = SkillKind.ORACLE,
    observability: Observability = Observability.PARTIAL,
    source: MemorySource = MemorySource.SUMMARY,
    memory: str = "privileged",
) -> Run:
    """Four judged episodes, of which three succeed, and one that was refused."""
    rows = [
        made_row(f"e{n}", {"success": float(n > 0), "sim_steps": 50.0}, control=control)
        for n in range(4)
    ]
    setting = {"skills": skills, "observability": observability, "memory_source": source}
    axes = rows[0].axes.model_copy(update=setting)
    refused = made_row("e4", error=RowError(fault=Fault.REFUSED, text="no"))
    settings = RunSettings(planner=planner, memory=memory)
    placed = [row.model_copy(update={"axes": axes}) for row in rows]
    return Run(f"run-of-{planner}", suite, settings, [*placed, refused])


def beside(run: Run, **named: list[str]) -> list[str]:
    """The rows below which a run stands; "" = none of the paper's."""
    found, row = [], ""
    for line in table_lines([run], named):
        if line.startswith(("paper ", "OTHER")):
            row = line.split()[1] if line.startswith("paper ") else ""
        elif line.startswith(f"ours {run.name} "):
            found.append(row)
    return found


def test_the_rows_of_captions_have_the_success_that_the_text_gives() -> None:
    assert row_keys() == ("a", "b", "c", "d", "e", "f", "g", "h", "i", "captioned", "views")
    printed = {line.key: line.success for line in BASELINES}
    assert (printed["captioned"], printed["views"]) == ((0.72,), (0.69,))
    lines = table_lines([], {})
    (captioned,) = (line for line in lines if line.startswith("paper captioned"))
    assert captioned.split()[-4:] == ["-", "0.72", "-", "-"]
    (react,) = (line for line in lines if line.startswith("paper e"))
    assert "3295.20 (76.27)" in react


@pytest.mark.parametrize(
    ("run", "row"),
    [
        (made_run("partnr_captioned"), "captioned"),
        (made_run("partnr_views", source=MemorySource.CAPTIONS), "views"),
        (made_run("partnr_react"), "e"),
        (made_run("partnr_react", suite="imported/tasks"), "e"),
        (made_run("partnr_summary", control=Control.SINGLE), "a"),
        (made_run("partnr_rag"), "f"),
        (made_run("partnr_finetuned", source=MemorySource.STATE), "g"),
        (made_run("partnr_react", skills=SkillKind.LEARNED), "h"),
        (
            made_run(
                "partnr_react",
                skills=SkillKind.LEARNED,
                observability=Observability.CONCEPTGRAPH,
                memory="object-graph",
            ),
            "i",
        ),
        (
            made_run(
                "heuristic_expert",
                control=Control.CENTRALIZED,
                observability=Observability.FULL,
                memory="full",
            ),
            "b",
        ),
        # How the memory is read, the memory, the tasks, the control, the planner are others.
        (made_run("partnr_react", source=MemorySource.TOOLS), ""),
        (
            made_run(
                "partnr_react",
                skills=SkillKind.LEARNED,
                observability=Observability.CONCEPTGRAPH,
                memory="learned",
            ),
            "",
        ),
        (made_run("partnr_views", suite="llamar"), ""),
        (made_run("partnr_captioned", control=Control.SINGLE), ""),
        (made_run("expert"), ""),
    ],
)
def test_a_run_stands_beside_the_row_of_its_method(run: Run, row: str) -> None:
    assert beside(run) == [row]
    (line,) = (one for one in table_lines([run], {}) if one.startswith("ours"))
    assert "0.75 [0.19, 0.99]" in line
    assert line.endswith("4 of 5")


def test_a_named_run_stands_beside_its_row_whatever_its_settings() -> None:
    run = made_run("expert")
    assert beside(run, views=[run.name]) == ["views"]
    with pytest.raises(PlannerError, match="there is no row 'z'; known are a, b"):
        table_lines([run], {"z": [run.name]})


def test_the_command_prints_the_papers_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "table", "partnr"]) == 0
    assert "paper views" in capsys.readouterr().out


@pytest.mark.parametrize("planner", ["partnr_captioned", "partnr_views"])
def test_a_run_by_captions_is_drawn_for_any_memory(
    planner: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With real pictures; the teacher stands in for both models."""
    out = str(tmp_path / "run")
    words = ["bench", "night_light_0", "--planner", planner, "--model", "teacher", "--out", out]
    assert main(words) == 0
    (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
    assert row.verdict is not None, row.error
    assert row.verdict.success, row.verdict.reason
    assert int(row.evidence["captions"]) >= row.verdict.decisions
    assert row.evidence["pictures_missing"] == "0"
    capsys.readouterr()
    assert (
        main(["bench", "table", "partnr", "--as", f"{planner.removeprefix('partnr_')}={out}"]) == 0
    )
    assert f"ours {out}" in capsys.readouterr().out


def test_a_server_gets_the_pictures_and_another_model_the_rest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stand-in for a vision-language model behind the real client."""
    with chat_server(["A bed and a lamp."]) as (url, asked):
        chosen = {
            "default": {"model": "teacher"},
            "roles": {"captioner": {"model": "v", "url": url}},
        }
        (tmp_path / "models.yaml").write_text(json.dumps({"version": 1, **chosen}))
        words = ["--model", f"roles:{tmp_path / 'models.yaml'}", "--out", str(tmp_path / "run")]
        assert main(["bench", "night_light_0", "--planner", "partnr_views", *words]) == 0
    (row,) = newest_rows(tmp_path / "run" / ROWS_NAME).values()
    assert row.verdict is not None, row.error
    assert row.verdict.success, row.verdict.reason
    assert len(asked) == int(row.evidence["captions"])
    for body in asked:
        (message,) = body["messages"]
        kinds = [part["type"] for part in message["content"]]
        assert sorted(kinds) == ["image_url", "text"]
    (dialogue,) = (tmp_path / "run" / "traces").glob("*.dialogue.jsonl")
    assert "Your camera shows: A bed and a lamp." in dialogue.read_text(encoding="utf-8")
