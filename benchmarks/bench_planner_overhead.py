"""Cost of a planner besides its model: prompt, grammar and parsing, tokens of a dialogue.

Repeat with: python benchmarks/bench_planner_overhead.py [--episode NAME]

With --run, instead: how much of a prompt a prefix cache has, in runs of `planner bench` with a
model. Of all but the first prompt of an episode: the share of characters that it begins with in
common with the prompt before it (one slot for all calls), and with the best of the episode's
earlier prompts (slots found by the prompt's beginning).

The tokens are counted with Mistral's tokenizer if `mistral_common` (Apache-2.0) is installed: `pip
install --no-deps mistral_common tiktoken regex`, and estimated from characters otherwise. CPU time,
not wall time.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from machine import print_table

from planner.app.embedded_run import run_embedded
from planner.app.run_options import RunOptions
from planner.models.chat import Message, Request, Speaker
from planner.models.gbnf import read_grammar
from planner.models.in_process import InProcessModel
from planner.models.recorded import read_dialogue
from planner.models.replies.turn import (
    Ability,
    Naming,
    TurnForm,
    TurnGrammar,
    turn_grammar,
    word_of,
    words_of,
)
from planner.models.teacher import ScriptedModel
from planner.planning.expert.expert import Expert
from planner.planning.part import PlannerChoice, make_planner
from planner.planning.planner import AgentResult, Context, Decision, Task
from planner.world.agents import capabilities_of
from planner.world.belief import Belief, BeliefNode
from planner.world.house_checks import load_episode
from planner.world.share import config_dir
from planner.world.skill import SkillCall, SkillName, SkillResult
from planner.world.vocabulary import EntityKind, Relation
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

PAPERS_GROWTH = 32.8
# tiny_models.py is with the tests that share it.
for folder in ("planning", "models"):
    sys.path.append(str(Path(__file__).parents[1] / "test" / "planner" / folder))
Row = tuple[str, str, str]


def big_belief(things: int) -> Belief:
    """Ten rooms, a hundred pieces of furniture, the rest objects."""
    nodes: dict[str, BeliefNode] = {}
    for r in range(10):
        name = f"room_{r}"
        nodes[name] = BeliefNode(name, EntityKind.ROOM, "room", None, (r, 0, 0), room=name)
    for f in range(100):
        name, room = f"table_{f}", f"room_{f % 10}"
        kind = EntityKind.FURNITURE
        nodes[name] = BeliefNode(
            name, kind, "table", 100 + f, (f, 0, 0), room=room, parent=room, description="table"
        )
    for t in range(things):
        name, parent = f"cup_{t}", f"table_{t % 100}"
        nodes[name] = BeliefNode(
            name,
            EntityKind.OBJECT,
            "cup",
            300 + t,
            (t, 0, 1),
            room=f"room_{t % 10}",
            parent=parent,
            relation=Relation.ON,
            description=f"cup with the Object.{100 + t % 100}",
        )
    return Belief(0.0, 1, nodes)


def decision_ms(name: str, turn: Callable[[str], str]) -> float:
    """The median of decisions with a model that replies at once; each result changes the world."""
    agents = ("agent_0",)
    belief = big_belief(200)
    able = capabilities_of("robot")
    assert able is not None
    naming = Naming.NUMBERS if name == "react" else Naming.NAMES
    words = [word_of(n, naming) for n in belief.of_kind(EntityKind.OBJECT)]
    replies = iter(turn(f"Navigate[{word}]") for word in words)
    task = Task("Bring all cups to the sink.", agents)
    planner = make_planner(
        PlannerChoice(name), task, ScriptedModel(lambda _messages: next(replies))
    )
    costs = []
    for number in range(40):
        context = Context(
            task,
            belief,
            None,
            {"agent_0": able},
            {},
            agents,
            0.0,
            lambda _since: ["Add Object.9: x"],  # type: ignore[arg-type]
        )
        began_s = time.process_time()
        decision = asyncio.run(planner.decide(context))
        costs.append(time.process_time() - began_s)
        ended = AgentResult("agent_0", decision.calls["agent_0"], SkillResult.success(), 0.0)
        planner.observe((ended,))
        if number % 8 == 7:
            # Sometimes a new object, which makes a new grammar necessary.
            extra = f"new_{number}"
            node = replace(belief.nodes["cup_0"], name=extra, entity_id=900 + number)
            belief = Belief(0.0, belief.sequence + 1, {**belief.nodes, extra: node})
    return statistics.median(costs) * 1e3


def overhead_rows() -> list[Row]:
    forms: list[tuple[str, Callable[[str], str]]] = [
        ("react", lambda call: f"{call}\n"),
        ("partnr_react", lambda call: f"Thought: I go there.\n{call}\n"),
        ("partnr_finetuned", lambda call: call),
    ]
    return [
        (f"decision of {name}, 300 entities", f"{decision_ms(name, turn):.2f} ms", "below 5 ms")
        for name, turn in forms
    ]


def fresh_grammar(number: int = 0) -> TurnGrammar:
    words = words_of(big_belief(200 + number), Naming.NAMES)
    return turn_grammar(words, {"agent_0": Ability(tuple(SkillName))}, TurnForm.THOUGHT)


def grammar_rows() -> list[Row]:
    made, read = [], []
    for number in range(20):
        began_s = time.process_time()
        grammar = fresh_grammar(number)
        middle_s = time.process_time()
        read_grammar(grammar.text)
        made.append(middle_s - began_s)
        read.append(time.process_time() - middle_s)
    rows = [
        ("grammar made, 300 entities", f"{statistics.median(made) * 1e3:.2f} ms", ""),
        ("... and read by our recogniser", f"{statistics.median(read) * 1e3:.2f} ms", ""),
    ]
    if importlib.util.find_spec("llguidance"):
        rows += engine_rows()
    return rows


def engine_rows() -> list[Row]:
    from llguidance import LLMatcher, LLTokenizer
    from llguidance.gbnf_to_lark import any_to_lark

    words = LLTokenizer("byte")
    text = fresh_grammar(30).text
    costs = []
    for _ in range(10):
        began_s = time.process_time()
        matcher = LLMatcher(words, LLMatcher.grammar_from_lark(any_to_lark(text)))
        assert not matcher.is_error()
        costs.append(time.process_time() - began_s)
    return [
        ("... and compiled by llguidance", f"{statistics.median(costs) * 1e3:.2f} ms", "< 50 ms")
    ]


def token_cost_rows() -> list[Row]:
    """A tiny model of random weights, unconstrained and constrained, if torch is installed."""
    if not all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
        return [("a token's cost by the grammar", "not measured: torch is not installed", "")]
    import torch
    from tiny_models import make_tiny

    torch.set_num_threads(1)
    ask = (Message(Speaker.USER, "What is the next action?"),)
    with tempfile.TemporaryDirectory() as folder:
        model = InProcessModel(make_tiny(Path(folder)), temperature=1.0)

        def token_ms(grammar: str, most: int) -> float:
            began_s, tokens = time.process_time(), 0
            for seed in range(8):
                answer = asyncio.run(
                    model.complete(Request(ask, grammar=grammar, seed=seed, max_tokens=most))
                )
                tokens += answer.usage.reply_tokens
            return (time.process_time() - began_s) / tokens * 1e3

        held, free = fresh_grammar().text, ""
        pairs = [(token_ms(held, 640), token_ms(free, 200)) for _ in range(6)][1:]
        asyncio.run(model.close())
    with_ms, without_ms = (statistics.median(column) for column in zip(*pairs, strict=True))
    words = f"{with_ms:.2f} ms held, {without_ms:.2f} ms free: {with_ms / without_ms - 1:+.0%}"
    return [("a token of a tiny model", words, "grammar below 10 %")]


# Tokens


def tokenizer() -> tuple[Callable[[str], int], str]:
    """A function that counts tokens, and its name."""
    spec = importlib.util.find_spec("mistral_common")
    if spec is None or importlib.util.find_spec("tiktoken") is None:
        return lambda text: -(-len(text) // 4), "none: estimated, 4 characters a token"
    from tiktoken import Encoding

    data = Path(next(iter(spec.submodule_search_locations or ()))) / "data" / "tekken_240911.json"
    file = json.loads(data.read_text())
    entries = file["vocab"][: file["config"]["default_vocab_size"] - 1000]
    ranks = {base64.b64decode(entry["token_bytes"]): int(entry["rank"]) for entry in entries}
    words = Encoding(
        "tekken", pat_str=file["config"]["pattern"], mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: len(words.encode(text)), "Mistral's tekken (mistral_common, Apache-2.0)"


class Shadowed:
    """The dialogue `react` whose model says what the expert decides: real calls and results."""

    name = "react"

    def __init__(self, task: Task) -> None:
        self._expert = Expert(task)
        self._decided: dict[str, SkillCall] = {}
        self._names: dict[str, SkillCall] = {}
        self._said: list[str] = []
        self.model = ScriptedModel(lambda _messages: self._said.pop(0))
        self._dialogue = make_planner(PlannerChoice("react"), task, self.model)

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        self._dialogue.observe(results)
        self._expert.observe(
            tuple(replace(r, call=self._names.get(r.agent, r.call)) for r in results)
        )

    async def decide(self, context: Context) -> Decision:
        decision = await self._expert.decide(context)
        calls = {}
        for agent, call in decision.calls.items():
            spoken = self._spoken(call, context.belief)
            if spoken is None:
                # Calls that EPM's dialogue cannot express (rooms, floors, waiting) are not counted.
                calls[agent] = self._names[agent] = call
                continue
            self._said.append(f"{spoken}\nAssigned!")
            now = replace(context, idle=(agent,))
            calls[agent] = (await self._dialogue.decide(now)).calls[agent]
            self._names[agent] = call
        return replace(decision, calls=calls)

    def _spoken(self, call: SkillCall, belief: Belief) -> SkillCall | None:
        if call.name in (SkillName.WAIT, SkillName.EXPLORE, SkillName.REARRANGE):
            return None
        words = []
        for word in call.arguments:
            node = belief.find(word) if word is not None else None
            if node is not None and node.entity_id is None:
                return None
            words.append(word_of(node, Naming.NUMBERS) if node is not None else word)
        return SkillCall(call.name, tuple(words))


def token_rows(names: Sequence[str]) -> list[Row]:
    count, how = tokenizer()
    grown: list[float] = []
    longest = shared = whole = 0
    for name in names:
        episode, house = load_episode(name)
        made: list[Shadowed] = []

        def make(task: Task, made: list[Shadowed] = made) -> Shadowed:
            made.append(Shadowed(task))
            return made[-1]

        backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
        run_embedded(backend, house, episode, make, RunOptions(images=False), agents=1)
        backend.close()
        asked = made[0].model.asked
        sizes = [sum(count(m.text) for m in messages) for messages in asked]
        if len(sizes) < 2:
            continue
        per_call = (sizes[-1] - sizes[0]) / (len(sizes) - 1)
        grown.append(per_call)
        longest = max(longest, round(sizes[0] + 50 * per_call))
        shared += sum(sizes[:-1])
        whole += sum(sizes)
    mean = statistics.mean(grown)
    return [
        ("tokenizer", how, ""),
        ("episodes", f"{len(grown)}, played by the expert through the dialogue", ""),
        ("growth of a skill call", f"{mean:.1f} tokens", f"at most {PAPERS_GROWTH} (paper)"),
        ("... least to most of an episode", f"{min(grown):.1f} to {max(grown):.1f}", ""),
        ("dialogue of 50 calls", f"{50 * mean:.0f} tokens on top of the opening", "below 3500"),
        ("share that a prefix cache holds", f"{shared / whole:.3f}", "all but each new turn"),
    ]


WITH = ("the prompt before it", "the best earlier one")


def alike(prompt: str, before: str) -> int:
    """How many characters two prompts begin with in common."""
    pairs = enumerate(zip(prompt, before, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(prompt), len(before)))


def shared_rows(run: Path) -> list[Row]:
    last, best, whole = 0, 0, 0
    for path in sorted((run / "traces").glob("*.dialogue.jsonl")):
        turns = read_dialogue(path).turns
        prompts = ["".join(f"<{m.speaker}>{m.text}" for m in turn.messages) for turn in turns]
        for number, prompt in enumerate(prompts[1:], 1):
            common = [alike(prompt, before) for before in prompts[:number]]
            last, best, whole = last + common[-1], best + max(common), whole + len(prompt)
    shares = (round(each / whole, 3) if whole else "no dialogues" for each in (last, best))
    return [(f"{run.name}: {what}", str(next(shares)), "at least 0.9") for what in WITH]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", action="append", type=Path, help="a run's folder; repeatable")
    parser.add_argument("--episode", action="append", help="name; instead of every seventh shipped")
    args = parser.parse_args()
    if args.run:
        print_table(
            "prompts that a cache has", [row for run in args.run for row in shared_rows(run)]
        )
        return
    rows = overhead_rows() + grammar_rows() + token_cost_rows()
    shipped = sorted(path.stem for path in (config_dir() / "episodes").glob("*/*.json"))
    rows += token_rows(args.episode or shipped[::7])
    print_table("planner beside its model", rows)


if __name__ == "__main__":
    main()
