"""A folder of traces from bags: one shard for each bag, improved as those of demonstrators are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

import numpy as np

from planner.replay.bag_files import files_of
from planner.replay.judging import recordings
from planner.training.traces.demonstrator import ExplorationRule
from planner.training.traces.folder import TraceFolder, TraceManifest
from planner.training.traces.record import Trace
from planner.training.traces.rules import TraceRules, improved
from planner.training.traces.searches import with_searches
from planner.training.traces.tries import Which, tries_of_bag
from planner.world.errors import FileError

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class BagRecipe:
    """How traces are made of recorded runs.

    Attributes:
        bags: their folders, or folders of them.
        agents: whose calls; empty = of all that made any.
        seed: of searches and invented instances.
        rules: what is left out, and invented.
        exploration: how much is explored without finding what was not known.
        consent: which persons agreed that this is made of what they did; "" = nobody was asked.
        tries: which tries at a task of a bag are read.
    """

    bags: tuple[Path, ...]
    agents: tuple[str, ...] = ()
    seed: int = 1
    rules: TraceRules = field(default_factory=TraceRules)
    exploration: ExplorationRule = field(default_factory=ExplorationRule)
    consent: str = ""
    tries: Which = Which.ALL

    def as_record(self, digest: str) -> dict[str, str | int | float | bool]:
        """The recipe for the manifest; `digest` is of the bags' files."""
        found: dict[str, str | int | float | bool] = {
            "bags": digest,
            "agents": " ".join(self.agents),
            "seed": self.seed,
        }
        if self.consent:
            found["consent"] = self.consent
        if self.tries is not Which.ALL:
            found["tries"] = str(self.tries)
        found |= {f"rule {name}": value for name, value in asdict(self.rules).items()}
        return found | {f"explore {name}": v for name, v in asdict(self.exploration).items()}


def make_bag_traces(output: Path, recipe: BagRecipe, tell: Callable[[str], None]) -> TraceManifest:
    """Reads the bags that are missing and writes the manifest.

    Args:
        output: the folder; a new one or one of the same bags and recipe.
        recipe: what to read.
        tell: called with a line for each bag.

    Raises:
        LeakError: for a run in a house, of an episode, or with words that are for evaluation.
        PlannerError: for a world with several instructions, or a bag with no calls of an agent.
        FileError: for a bag that cannot be read.
    """
    bags = [bag for path in recipe.bags for bag in recordings(path)]
    logs = [bag for bag in bags if not bag.is_dir()]
    if logs:
        raise FileError(logs[0], "", "is a log of states, which has no calls: name bags")
    digests = [_digest(bag) for bag in bags]
    for bag, digest in zip(bags, digests, strict=True):
        if digests.count(digest) > 1:
            raise FileError(bag, "", "is named twice, or has a copy")
    every = sha256("\n".join(digests).encode()).hexdigest()[:24]
    folder = TraceFolder(output, recipe.as_record(every), len(bags))
    for number in folder.missing():
        bag = bags[number]
        rng = np.random.default_rng([recipe.seed, int(digests[number][:12], 16)])
        traces = list[Trace]()
        for tried in tries_of_bag(bag, recipe.agents, recipe.tries, tell):
            searched = [with_searches(one, recipe.exploration, rng) for one in tried.traces]
            traces += improved(searched, recipe.rules, rng)
        folder.write(number, traces)
        dropped = "" if traces else ": its task was not solved, so none is kept"
        tell(f"{number + 1} of {len(bags)}, {bag}: {len(traces)} traces{dropped}")
    return folder.finish()


def _digest(bag: Path) -> str:
    """Of a bag's files, by their content."""
    found = sha256()
    try:
        for file in files_of(bag):
            with file.open("rb") as stream:
                while part := stream.read(_CHUNK):
                    found.update(part)
    except OSError as error:
        raise FileError(bag, "", f"cannot be read: {error.strerror}") from None
    return found.hexdigest()
