"""Grammar against translator: the same episodes with listed actions and with free text.

Episodes are spread over the suite llamar, with two agents. The model is the teacher, which reads
the goal; it stands for a model that knows what to do, so that what is lost is lost in reading. As
free text its actions are said in the ways that encoders are tuned with and in those set aside, with
any word of the catalogue for the thing. Understood right is an action whose verb and thing are
those that were meant. With listed actions a model cannot write anything else: each reply is checked
against its grammar. Time is processor time of the planner in a joint step, without the model's.

Repeat with: python benchmarks/bench_translating.py [--episodes N] [--encoder FOLDER]
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from machine import print_table

from papers.llamar import metrics as llamar
from papers.llamar.actions import Action, parse_action
from papers.llamar.translator import class_of, number_of, spoken_class
from papers.llamar.translator_tuning import say
from planner.app.embedded_run import prepare_embedded
from planner.app.run import decision_record, traced
from planner.app.run_options import RunOptions
from planner.episodes.episode_file import unpacked
from planner.evaluation.statistics import rate
from planner.evaluation.trace_builder import TraceBuilder
from planner.models.caller import ModelCall
from planner.models.chat import ChatModel, Completion, Request, Role
from planner.models.gbnf import read_grammar
from planner.models.model_choice import ModelChoice, open_model
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import Context, Decision, Planner, Task
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

ACTION = "'s action"


@dataclass(frozen=True)
class Way:
    """One way to get from replies to actions.

    Attributes:
        free: whether the model writes free text.
        is_trained: whether in the ways of saying that encoders are tuned with.
    """

    name: str
    free: bool = False
    is_trained: bool = False
    options: dict[str, str | bool] = field(default_factory=dict)


@dataclass
class Tally:
    """Counts of one way over all episodes; milliseconds are the planner's own."""

    meant: int = 0
    read: Counter[str] = field(default_factory=Counter)
    successes: int = 0
    episodes: int = 0
    steps: float = 0.0
    own_ms: float = 0.0
    grammar_characters: int = 0
    calls: int = 0


class Speaker:
    """The teacher, whose actions are said in other words."""

    name = "teacher in other words"

    def __init__(self, teacher: ChatModel, way: Way, seed: str, tally: Tally) -> None:
        self._teacher, self._way, self._tally = teacher, way, tally
        self._random = Random(seed)
        self.meant: list[Action] = []
        self.spent_s = 0.0

    async def complete(self, request: Request) -> Completion:
        """The teacher's reply, with the actions of the Actor as this way has them."""
        began_s = time.process_time()
        try:
            return self._said(request, await self._teacher.complete(request))
        finally:
            self.spent_s += time.process_time() - began_s

    def _said(self, request: Request, reply: Completion) -> Completion:
        if request.role is not Role.ACTOR:
            return reply
        texts = json.loads(reply.text)
        keys = [key for key in texts if key.endswith(ACTION)]
        self.meant = [parse_action(texts[key]) for key in keys]
        for key, action in zip(keys, self.meant, strict=True):
            texts[key] = self._other_words(action) if self._way.free else action.words
        text = json.dumps(texts, separators=(",", ":"))
        if not read_grammar(request.grammar).accepts(text):
            raise PlannerError(f"the grammar does not accept {text}")
        self._tally.grammar_characters += len(request.grammar)
        self._tally.calls += 1
        return replace(reply, text=text)

    def _other_words(self, action: Action) -> str:
        thing, number = action.argument.lower(), ""
        if action.verb.takes_thing:
            thing, count = spoken_class(class_of(action.argument)), number_of(action.argument)
            # The first one needs no number, as in "the apple".
            number = f" {count}" if count > 1 else ""
        is_trained = self._way.is_trained
        return say(action.verb, thing, self._random, is_trained=is_trained, number=number)

    async def close(self) -> None:
        """Closes the teacher."""
        await self._teacher.close()


@dataclass
class Timed:
    """A planner whose own processor time is measured."""

    planner: Planner
    speaker: Speaker
    spent_s: float = 0.0

    @property
    def name(self) -> str:
        return self.planner.name

    def observe(self, results: tuple[object, ...]) -> None:
        self.planner.observe(results)  # type: ignore[arg-type]

    async def decide(self, context: Context) -> Decision:
        began_s, model_s = time.process_time(), self.speaker.spent_s
        try:
            return await self.planner.decide(context)
        finally:
            spent_s = time.process_time() - began_s
            self.spent_s += spent_s - (self.speaker.spent_s - model_s)


def play(episode: Episode, house: House, way: Way, tally: Tally) -> None:
    """Runs one episode and counts."""
    teacher = open_model(ModelChoice("teacher"), episode.episode_id, 0)
    speaker = Speaker(teacher, way, episode.episode_id, tally)
    calls: list[ModelCall] = []
    timed: list[Timed] = []

    def note(call: ModelCall) -> None:
        calls.append(call)
        if call.role is Role.ACTOR and not call.error:
            count(speaker.meant, call, tally)

    def make(task: Task) -> Timed:
        planner = make_planner(PlannerChoice("llamar", options=way.options), task, speaker, note)
        timed.append(Timed(planner, speaker))
        return timed[0]

    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    builder = TraceBuilder()
    try:
        run = prepare_embedded(
            backend, house, episode, make, RunOptions(images=False, trace=builder)
        )
        result = run.run()
    finally:
        backend.close()
    decisions = [decision_record(call, 0.0) for call in calls]
    trace = traced(builder, episode, result, planner="llamar", decisions=decisions)
    tally.episodes += 1
    tally.successes += llamar.success(trace).value == 1.0
    tally.steps += llamar.joint_steps(trace).value or 0.0
    tally.own_ms += 1000 * timed[0].spent_s


def count(meant: Sequence[Action], call: ModelCall, tally: Tally) -> None:
    """Compares what was meant with what the trace says was read."""
    for number, action in enumerate(meant):
        words = call.parameters[f"agent_{number}.action"].rpartition(" (")[0]
        found = parse_action(words)
        tally.meant += 1
        if (found.verb, found.argument) == (action.verb, action.argument):
            tally.read["right"] += 1
        else:
            tally.read["nothing" if words == "Idle" else "otherwise"] += 1


def episodes(number: int) -> list[tuple[Episode, House]]:
    """Spread evenly over the suite."""
    paths = sorted(unpacked(config_dir() / "suites" / "llamar.json.gz").glob("*.json"))
    if not 1 <= number <= len(paths):
        raise PlannerError(f"--episodes: expected 1 to {len(paths)}, got {number}")
    return [load_episode(str(paths[k * len(paths) // number])) for k in range(number)]


def row(way: Way, tally: Tally) -> tuple[str, str, str]:
    """The line of a way."""
    shares = ", ".join(f"{tally.read[k] / tally.meant:.1%} {k}" for k in ("right", "otherwise"))
    nothing = tally.read["nothing"] / tally.meant
    found = rate(tally.successes, tally.episodes)
    measured = (
        f"{shares}, {nothing:.1%} not understood of {tally.meant}; success "
        f"{tally.successes / tally.episodes:.2f} ({found.low:.2f}, {found.high:.2f}); "
        f"{tally.steps / tally.episodes:.1f} steps; {tally.own_ms / tally.steps:.1f} ms a step; "
        f"grammar of {tally.grammar_characters // max(tally.calls, 1)} characters"
    )
    return way.name, measured, f"{tally.episodes} episodes"


def translator(folder: Path | None) -> dict[str, str | bool]:
    """The option for an encoder's folder; without one words are compared."""
    return {"translator": str(folder)} if folder else {}


def main() -> None:
    """Prints one row for each way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--episodes", type=int, default=24)
    parser.add_argument("--encoder", type=Path, nargs="*", default=[], help="folders of encoders")
    args = parser.parse_args()
    ways = [
        Way("listed actions", options={"listed_actions": True}),
        *(
            Way(f"{name}, {by.name if by else 'words'}", True, is_trained, translator(by))
            for by in (None, *args.encoder)
            for name, is_trained in (("usual ways of saying", True), ("ways set aside", False))
        ),
    ]
    rows = []
    for way in ways:
        tally = Tally()
        for episode, house in episodes(args.episodes):
            play(episode, house, way, tally)
        rows.append(row(way, tally))
    print_table("from replies to actions, two agents", rows)


if __name__ == "__main__":
    main()
