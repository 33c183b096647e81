"""How often tasks succeed with oracle, noisy and learned skills, and the ratio to oracle.

The robot alone, with the expert, in tasks of PARTNR's form that no person is needed for; the memory
sees by rays. Intervals are Wilson's, 95 %, and of the ratio that of episodes drawn again. Repeat
with:

    python benchmarks/bench_skill_kinds.py --kinds oracle noisy --episodes 40
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path

from bench_expert import needs_partner
from machine import describe_machine

from planner.app.embedded_run import prepare_embedded
from planner.app.run_options import RunOptions
from planner.bench.runs.manifest import find_suite
from planner.evaluation.statistics import Estimate, bootstrap, wilson
from planner.planning.expert.expert import Expert
from planner.skills.kind import LearnedSkills, SkillChoice, SkillKind
from planner.world.episode import Episode
from planner.world.house import House
from planner.world.house_checks import load_episode
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

# PARTNR's table of baselines: learned and oracle skills, decentralized, partial.
PAPER_RATIO = 0.57 / 0.73


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--kinds", nargs="+", choices=[*SkillKind], default=["oracle", "noisy"])
    parser.add_argument("--episodes", type=int, default=40)
    parser.add_argument("--suite", default="partnr_val")
    parser.add_argument("--policy", type=Path, help="learned: file; default: the shipped one")
    parser.add_argument("--hand-policy", type=Path, help="learned: file; default: the shipped one")
    parser.add_argument(
        "--learned", type=LearnedSkills, choices=[*LearnedSkills], default=LearnedSkills.BOTH
    )
    parser.add_argument("--rows", type=Path, help="file to keep each outcome in, and to go on from")
    options = parser.parse_args()
    print(describe_machine())
    tasks = chosen(options.suite, options.episodes)
    known = rows_of(options.rows)
    solved: dict[str, list[bool]] = {}
    for name in options.kinds:
        kind, steps, begin_s = SkillKind(name), 0.0, time.process_time()
        outcomes = solved[name] = []
        choice = SkillChoice(kind, options.policy, options.hand_policy, options.learned)
        of_kind = f"{kind} {options.learned}" if kind is SkillKind.LEARNED else str(kind)
        renderer = "auto" if kind is SkillKind.LEARNED else "none"
        backend = EmbeddedBackend(EmbeddedOptions(renderer=renderer, instances=False))
        for episode, house in tasks:
            row = known.get(f"{of_kind} {episode.episode_id}")
            if row is None:
                row = played(backend, episode, house, choice)
                if options.rows:
                    key = {"key": f"{of_kind} {episode.episode_id}"}
                    with options.rows.open("a", encoding="utf-8") as file:
                        file.write(json.dumps({**key, "row": row}) + "\n")
            outcomes.append(bool(row["success"]))
            steps += row["steps"]
        backend.close()
        share = wilson(sum(outcomes), len(tasks))
        line = f"{name}: {sum(outcomes)} of {len(tasks)}, {share.value:.2f}{_interval(share)}"
        line += f", {steps / len(tasks):.0f} steps, {time.process_time() - begin_s:.0f} s"
        if name != "oracle" and any(solved.get("oracle", ())):
            ratio = ratio_of(outcomes, solved["oracle"])
            line += f"; {ratio.value:.2f}{_interval(ratio)} of oracle (paper {PAPER_RATIO:.2f})"
        print(line, flush=True)
    return 0


def ratio_of(outcomes: Sequence[bool], oracle: Sequence[bool]) -> Estimate:
    """The ratio of two rates of success in the same episodes."""

    def ratio(drawn: Sequence[int]) -> float | None:
        best = sum(oracle[number] for number in drawn)
        return sum(outcomes[number] for number in drawn) / best if best else None

    return bootstrap(len(oracle), ratio)


def _interval(estimate: Estimate) -> str:
    return f" ({estimate.low:.2f} to {estimate.high:.2f})"


def chosen(suite: str, count: int) -> Sequence[tuple[Episode, House]]:
    """The first episodes of a suite that the robot can do alone."""
    found = []
    for entry in find_suite(suite):
        episode, house = load_episode(entry.path)
        if not needs_partner(episode):
            found.append((episode, house))
        if len(found) == count:
            break
    return found


def played(
    backend: EmbeddedBackend, episode: Episode, house: House, choice: SkillChoice
) -> dict[str, float]:
    """Success and steps of one episode."""
    run = prepare_embedded(
        backend, house, episode, Expert, RunOptions(acting=(episode.agents[0].uid,), images=False)
    )
    run.skills = choice
    result = run.run()
    return {"success": float(result.verdict.success), "steps": float(result.sim_steps)}


def rows_of(path: Path | None) -> dict[str, dict[str, float]]:
    """The outcomes that a file has already."""
    if path is None or not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {line["key"]: line["row"] for line in lines}


if __name__ == "__main__":
    raise SystemExit(main())
