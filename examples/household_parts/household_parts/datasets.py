"""Episodes from elsewhere, and made anew: `lists` and `bedtimes`."""

from argparse import Namespace
from pathlib import Path

from planner.episodes.generator import GeneratorTools, task_generator
from planner.episodes.importing.importer import AGENTS, Fault, Imported, ImporterPart
from planner.world.episode import EPISODE_VERSION, Episode
from planner.world.house import House
from planner.world.house_checks import load_episode

HOME = "train_0"


def _lists(args: Namespace) -> Imported:
    """Each line of a file is an instruction; empty ones are left out."""
    read, episodes, left_out = {}, [], []
    for path in args.files:
        lines = path.read_text(encoding="utf-8").splitlines()
        read[path.name] = len(lines)
        for number, line in enumerate(lines):
            if not line.strip():
                left_out.append(Fault(path.name, f"line {number + 1}", "says nothing"))
                continue
            episodes.append(
                Episode(
                    version=EPISODE_VERSION,
                    episode_id=f"{path.stem}-{number}",
                    house=HOME,
                    instruction=line.strip(),
                    seed=args.seed,
                    agents=AGENTS,
                )
            )
    return Imported("lists", read, tuple(episodes), tuple(left_out))


def _bedtimes(_file: Path | None, _tools: GeneratorTools) -> tuple[list[Episode], list[House]]:
    episode, _ = load_episode("night_light_0")
    return [episode.model_copy(update={"episode_id": f"bedtime_{n}"}) for n in range(2)], []


IMPORTER = ImporterPart(summary="an instruction a line", read=_lists)
GENERATOR = task_generator("two evenings with lamps", _bedtimes)
