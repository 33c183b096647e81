"""How many tasks are solved by chance within the grammar of a planner: what the model adds to it.

Repeat with: python benchmarks/bench_chance.py SEED SUITE [options of planner bench]

such as `1 partnr_test --planner react --wording short --agents 1 --episodes 40 --out FOLDER`: the
model is one that draws each reply from the grammar, all alternatives of a choice alike, but puts
nothing next to something else. With `--keep-traces`, what it solves can be learned from.
"""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass

from planner.cli import main
from planner.models import models
from planner.models.chat import Completion, ModelPart, ModelRequest, Request
from planner.models.gbnf import (
    ROOT,
    Choice,
    Part,
    Repeat,
    Rule,
    Sequence,
    Word,
    read_grammar,
)
from planner.models.replies.turn import END_OF_TURN

# The rule of what something is put next to; its last alternative is nothing.
BESIDE = "where"


@dataclass(frozen=True)
class Chance:
    """A model that knows nothing but its grammar."""

    draws: random.Random
    name: str = "chance"

    async def complete(self, request: Request) -> Completion:
        """One of the replies that the grammar allows."""
        rules = read_grammar(request.grammar).rules

        def drawn(part: Part) -> str:
            if isinstance(part, Rule):
                rule = rules[part.name]
                is_beside = part.name == BESIDE and isinstance(rule, Choice)
                return drawn(rule.parts[-1] if is_beside else rule)
            if isinstance(part, Word):
                return self.draws.choice(sorted(w for ws in part.by_length.values() for w in ws))
            if isinstance(part, Choice):
                return drawn(self.draws.choice(part.parts))
            if isinstance(part, Sequence):
                return "".join(map(drawn, part.parts))
            # Free text and blanks, of which the least will do.
            if isinstance(part, Repeat):
                return "".join(drawn(part.part) for _ in range(part.min_count))
            return "a" * part.min_count

        return Completion(drawn(Rule(ROOT)).partition(f"\n{END_OF_TURN}")[0])

    async def close(self) -> None:
        """Nothing is open."""


def chance_of(seed: int) -> ModelPart:
    """The part that makes it, for each task from the same seed and the task's own."""

    def make(request: ModelRequest) -> Chance:
        return Chance(random.Random(f"{seed} {request.episode_id} {request.seed}"))

    return ModelPart(summary="by chance", make=make, per_episode=True, holds_grammar=True)


if __name__ == "__main__":
    models.MODELS = {**models.MODELS, "chance": chance_of(int(sys.argv[1]))}
    sys.exit(main(["bench", *sys.argv[2:], "--model", "chance"]))
