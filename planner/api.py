"""Running episodes from Python: `planner.load` and `planner.run` (docs/python_api.md)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from planner.app.embedded_run import backend_agents, prepare_run
from planner.app.run import ObservedTrace, RunResult, decision_record, traced
from planner.app.run_options import RunOptions
from planner.app.run_story import RunStory
from planner.bench.runs.manifest import Job
from planner.bench.runs.models import Models
from planner.bench.runs.settings import MemoryKind, RunSettings
from planner.evaluation.progress import Verdict
from planner.evaluation.trace import EpisodeTrace
from planner.evaluation.trace_builder import DecisionRecord
from planner.memory.maps.occupancy import FloorSurvey
from planner.models.caller import ModelCall
from planner.models.model_choice import ModelChoice, make_model
from planner.narrator.picture import Moment
from planner.parts.option import OptionValue
from planner.planning.part import make_planner
from planner.planning.planner import Planner, Task
from planner.planning.session import Ask
from planner.skills.find_model import FindModel
from planner.skills.tools import load_view_encoder
from planner.world.bounds import MAX_TEXT_LENGTH
from planner.world.episode import Episode, with_team
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.house_checks import find_house, is_house_file
from planner.world.state import WorldState
from sim_bridge.backend import BACKENDS, Backend, Drawn, make_backend
from sim_bridge.geometry import DrawsModels
from sim_bridge.opening import Opened, bare_episode, open_world

NO_MODEL = ModelChoice()
# Short, since a person is waiting; benchmarks wait longer.
MODEL_WAIT_S = 30.0
# Per episode, if `ask` is given.
MAX_QUESTIONS = 10


@dataclass(frozen=True, slots=True)
class Run:
    """The result of a run.

    Attributes:
        result: the verdict, how the session ended, its calls in order.
        trace: the same in the format for metrics.
        story: what `planner run` prints of it.
    """

    result: RunResult
    trace: EpisodeTrace
    story: RunStory

    @property
    def verdict(self) -> Verdict:
        """The evaluator's verdict."""
        return self.result.verdict

    @property
    def pictures(self) -> Sequence[Moment]:
        """Camera images after things were moved, with captions; empty without pictures."""
        return self.story.moments

    def draw(self, folder: Path) -> Path:
        """Draws the house with all paths and pictures into a folder; returns the file.

        Raises:
            PlannerError: if the file cannot be written.
        """
        return self.story.draw(folder)


def load(name: str | Path) -> Opened:
    """Loads a house or an episode with its house.

    Args:
        name: a file, or the name of a shipped episode or house.

    Raises:
        PlannerError: naming the file, the field and the reason.
    """
    text = str(name)
    return open_world(text, "", 0) if _is_house(text) else open_world("", text, 0)


def with_instruction(opened: Opened, instruction: str) -> Episode:
    """The loaded episode with a task in words; a bare house gets a robot and a person.

    Raises:
        PlannerError: if there are too many words.
    """
    if len(instruction) > MAX_TEXT_LENGTH:
        raise PlannerError(
            f"the instruction has {len(instruction)} characters, more than {MAX_TEXT_LENGTH}"
        )
    episode = opened.episode if opened.has_task else bare_episode(opened.house, 2)
    words = {"instruction": instruction, "evaluation": None, "criteria": None, "task_types": ()}
    return episode.model_copy(update=words)


def _is_house(name: str) -> bool:
    try:
        path = find_house(name)
    except PlannerError:
        return False
    # A shipped house is found by its name; a file is told apart by its content.
    return path.name != name.rpartition("/")[2] or is_house_file(path)


def run(
    episode: str | Path | Opened,
    *,
    instruction: str = "",
    planner: str = "expert",
    backend: str = "",
    sensors: str = "",
    memory: str = MemoryKind.RAYS.value,
    agents: int = 0,
    seed: int | None = None,
    model: str = "",
    model_url: str = "",
    find_model: str = "",
    find_model_url: str = "",
    explore_encoder: str = "",
    pictures: bool = False,
    builds_map: bool = False,
    options: Mapping[str, OptionValue] | None = None,
    skill_options: Mapping[str, OptionValue] | None = None,
    ask: Ask | None = None,
    say: Callable[[str], None] | None = None,
) -> Run:
    """Carries out an episode in this process, as `planner run` does.

    Args:
        episode: name, file, or the result of `load`.
        instruction: plain English, instead of the episode's task; judged as it was understood.
        planner: one of `planner run --planner`.
        backend: one of `planner run --backend`; empty = the embedded simulator, or what the house
            needs.
        sensors: one of `planner run --sensors`; empty = they do not err.
        memory: one of `planner run --memory`.
        agents: how many act; 0 = all.
        seed: replaces the episode's.
        model: language model for planners that need one; as `planner run --model`.
        model_url: address of the model's server.
        find_model: language model that answers the Find tools; empty = they answer by rule.
        find_model_url: address of its server.
        explore_encoder: folder of a SigLIP or CLIP class model, by which ExploreByView compares
            pictures with words; empty = it goes where it has not been for longest.
        pictures: whether cameras are rendered, for the memory to use.
        builds_map: whether a robot explores the house before the planner begins, and all walk by
            the map that they build; needs `pictures`.
        options: values of planner options that differ from the defaults.
        skill_options: who moves bodies, such as `{"skill_kind": "noisy"}`; None = by oracle.
        ask: answers questions of the planner; None = a question ends the run.
        say: called with each line of the story as it happens.

    Raises:
        PlannerError: for invalid arguments, or a model that does not reply.
    """
    opened = episode if isinstance(episode, Opened) else load(episode)
    task = with_instruction(opened, instruction) if instruction else opened.episode
    settings = RunSettings(
        planner=planner,
        backend=backend,
        sensors=sensors,
        memory=memory,
        model=model,
        model_url=model_url,
        options=options or {},
        skill_options=skill_options or {},
        model_wait_s=MODEL_WAIT_S,
    )
    playing = play(
        settings,
        task,
        opened.house,
        agents=agents,
        seed=seed,
        pictures=pictures,
        say=say or _say_nothing,
        ask=ask,
        find=ModelChoice(find_model, find_model_url),
        explore_encoder=explore_encoder,
        builds_map=builds_map,
    )
    return asyncio.run(playing)


async def play(
    settings: RunSettings,
    episode: Episode,
    house: House,
    *,
    agents: int = 0,
    seed: int | None = None,
    pictures: bool = False,
    say: Callable[[str], None] = print,
    on_state: Callable[[WorldState], None] | None = None,
    ask: Ask | None = None,
    find: ModelChoice = NO_MODEL,
    explore_encoder: str = "",
    builds_map: bool = False,
) -> Run:
    """As `run`, inside an event loop; `on_state` is called with each evaluated state.

    `find` is the model of the Find tools; `explore_encoder` the folder of ExploreByView's model.

    Raises:
        PlannerError: for invalid arguments, or a model that does not reply.
    """
    if agents < 0:
        raise PlannerError(f"agents: {agents} is below 0")
    settings.check()
    episode = with_team(episode, agents)
    acting = backend_agents(episode)[: agents or None]
    async with AsyncExitStack() as opened:
        backend = _backend(settings, house)
        opened.callback(backend.close)
        pictures = pictures and BACKENDS.get(settings.world_of(house)).has_pictures
        if builds_map and (settings.knows_all or not pictures):
            raise PlannerError("a map can only be built where the memory reads pictures")
        survey = FloorSurvey()
        models = Models(settings)
        opened.push_async_callback(models.close)
        story = RunStory(house, episode, acting, backend, has_pictures=pictures, say=say)
        builder = ObservedTrace(lambda state, progress: story.on_progress(state.stamp_s, progress))
        if on_state is not None:
            builder.add_listener(lambda state, _progress: on_state(state))
        decisions: list[DecisionRecord] = []

        def hear(call: ModelCall) -> None:
            if settings.model and call.answered:
                decisions.append(decision_record(call, backend.now_s()))

        job_seed = episode.seed if seed is None else seed
        chat = models.chat(Job(Path(), episode.episode_id, episode.house, job_seed))

        def make(task: Task) -> Planner:
            choice = replace(settings.choice(len(task.agents)), explores_first=builds_map)
            if ask is not None:
                choice = replace(
                    choice, dialogue=replace(choice.dialogue, max_questions=MAX_QUESTIONS)
                )
            return make_planner(choice, task, chat, hear)

        prepared = prepare_run(
            backend,
            house,
            episode,
            make,
            RunOptions(
                acting=acting,
                seed=job_seed,
                images=pictures and not settings.knows_all,
                on_event=story.on_event,
                trace=builder,
                updater=models.updater(house, backend),
                all_known=settings.knows_all,
                watch=(lambda seen, _memory: survey.add(seen)) if builds_map else None,
            ),
        )
        prepared.ask, prepared.skills = ask, settings.skills
        if builds_map:
            prepared.floor = survey.newest
        found = make_model(find)
        if found is not None:
            prepared.find_model = FindModel(found, blocks=True)
            opened.callback(prepared.find_model.close)
        prepared.encoder = load_view_encoder(explore_encoder)
        story.begin(prepared)
        if isinstance(backend, DrawsModels):
            say(f"meshes: {backend.drawn_from()}")
        result = await prepared.play()
        trace = traced(
            builder,
            episode,
            result,
            planner=settings.planner,
            seed=seed,
            acting=acting,
            decisions=decisions,
        )
        return Run(result, trace, story)


def _backend(settings: RunSettings, house: House) -> Backend:
    """The backend that settings and house ask for.

    Whether pictures are drawn is decided picture by picture; instance ids are drawn only for a
    privileged memory.
    """
    updater = settings.updater
    instances = updater is None or updater.reads_truth(
        settings.memory_model, settings.memory_options
    )
    drawn = Drawn(instances=instances, sensors=settings.sensors)
    return make_backend(settings.world_of(house), settings.backend_config, drawn)


def _say_nothing(_line: str) -> None:
    """Discards a line of the story."""
