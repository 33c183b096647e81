"""An episode as a gymnasium environment: actions are skill calls, observations the memory."""

from __future__ import annotations

import asyncio
import string
import weakref
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, Self, cast

import gymnasium
from gymnasium import spaces
from gymnasium.error import CustomSpaceError
from gymnasium.vector.utils import create_shared_memory
from pydantic import JsonValue

from planner.api import load, with_instruction
from planner.app.embedded_run import backend_agents, prepare_run, usual_backend
from planner.app.run import EpisodeRun, RunResult
from planner.app.run_options import RunOptions
from planner.grounding.grounder import Binder
from planner.parts.calls import parse_call
from planner.planning.belief_text import summary, world_description
from planner.planning.planner import AgentResult, Context, Decision
from planner.planning.understanding import Unclear, Understood, understand
from planner.world.errors import PlannerError
from planner.world.house_checks import load_episode
from planner.world.observation import RgbImage
from planner.world.skill import CallError, SkillCall, SkillCode, SkillResult
from planner.world.topics import InstructionCode
from planner.world.vocabulary import hand_states
from sim_bridge.backend import BACKENDS, Backend, Drawn, make_backend

Observation = dict[str, str]

_CHARACTERS = frozenset(string.printable)
_MAX_OBSERVATION, _MAX_ACTION = 100_000, 1_000


class ObservedText(spaces.Text):
    """A text of an observation.

    Vector environments of processes would read it from shared memory once, when they are made, and
    never again. So that is refused: they need `shared_memory=False`.
    """


def _refuse_shared_memory(_space: ObservedText, n: int = 1, ctx: object = None) -> NoReturn:  # noqa: ARG001
    raise CustomSpaceError("texts of an observation need shared_memory=False")


create_shared_memory.register(ObservedText, _refuse_shared_memory)


class HouseholdEnv(gymnasium.Env[Observation, str]):
    """One agent in an episode, on the embedded simulator or another backend.

    An action is a skill call such as `Pick[cup_0]`; a step lasts until the skill ends, and
    `Done[]` ends the episode. What is not a call fails at once and takes no time. An
    observation has the instruction, the memory's content, what each hand holds, and the last
    result. The reward is the change of percent complete (0 to 1); an episode is truncated after
    20,000 simulation steps.

    A pickled or copied environment is a new one with the same arguments, to be reset.
    """

    # A video has one picture for each skill.
    metadata = {"render_modes": ["rgb_array"], "render_fps": 1}  # noqa: RUF012 - as gymnasium has it

    _arguments: tuple[tuple[Any, ...], dict[str, Any]]

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Keeps the arguments, by which an environment is pickled."""
        made = super().__new__(cls)
        made._arguments = (args, kwargs)
        return made

    def __init__(
        self,
        episode: str | Path,
        agent: str = "",
        render_mode: str | None = None,
        *,
        instruction: str = "",
        backend: str = "",
    ) -> None:
        """Loads an episode.

        Args:
            episode: name or file; with an instruction also of a house or a scene graph.
            agent: the acting agent; "" = the episode's first.
            render_mode: `rgb_array` draws what the agent sees.
            instruction: plain English, instead of the episode's task; judged as the rules of
                the planner `words` understand it.
            backend: one of `planner run --backend`; "" = the embedded simulator, or what the
                house needs.

        Raises:
            PlannerError: for an episode that cannot be loaded, or pictures of a backend without,
                or an instruction that no rule can read.
            ValueError: for an agent that the episode lacks, or another render mode.
        """
        modes = self.metadata["render_modes"]
        if render_mode is not None and render_mode not in modes:
            listed = ", ".join(modes)
            raise ValueError(f"render_mode: expected {listed} or None, got {render_mode!r}")
        self._goal: dict[str, JsonValue] | None = None
        if instruction:
            opened = load(episode)
            self._episode, self._house = with_instruction(opened, instruction), opened.house
            self._goal = _understood(instruction)
        else:
            self._episode, self._house = load_episode(episode)
        names = backend_agents(self._episode)
        self._agent = agent or names[0]
        if self._agent not in names:
            raise ValueError(f"agent: expected one of {', '.join(names)}, got {agent!r}")
        self.render_mode = render_mode
        text = ObservedText(_MAX_OBSERVATION, min_length=0, charset=_CHARACTERS)
        parts = spaces.Dict(dict.fromkeys(("hands", "instruction", "memory", "result"), text))
        self.observation_space = cast("spaces.Space[Observation]", parts)
        self.action_space = spaces.Text(_MAX_ACTION, min_length=0, charset=_CHARACTERS)
        self._backend = _made(backend or usual_backend(self._house), pictures=bool(render_mode))
        self._loop = asyncio.new_event_loop()
        self._policy = _Policy(self._agent)
        self._run: EpisodeRun | None = None
        self._playing: asyncio.Task[RunResult] | None = None
        self._complete = 0.0
        # Also runs when the environment is forgotten, and when the program ends.
        self._free = weakref.finalize(self, _free, self._loop, self._backend)

    def __reduce__(self) -> tuple[Any, ...]:
        """The class and the arguments: a simulator that runs cannot be pickled."""
        args, kwargs = self._arguments
        return partial(type(self), **kwargs), args

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Restarts the episode; `seed` decides what its file leaves open.

        Raises:
            PlannerError: if the episode cannot be run.
            RuntimeError: after `close`.
        """
        self._check_open()
        super().reset(seed=seed, options=options)
        self._stop()
        policy = self._policy = _Policy(self._agent)
        self._run = prepare_run(
            self._backend,
            self._house,
            self._episode,
            lambda _task: policy,
            RunOptions(acting=(self._agent,), seed=seed, images=False),
        )
        if self._goal is not None:
            self._run.on_goal(self._goal)
        self._complete = 0.0
        self._playing = self._loop.create_task(self._run.play())
        self._go_on(self._playing)
        if self._playing.done():
            self._playing.result()
        return self._observation(""), self._info(None)

    def step(self, action: object) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Carries out a skill call.

        Raises:
            PlannerError: if the simulation fails.
            RuntimeError: before `reset`, or after the end or `close`.
        """
        self._check_open()
        playing = self._playing
        if self._run is None or playing is None or playing.done():
            raise RuntimeError("call reset() before step()")
        try:
            if not isinstance(action, str):
                words = f"an action is a text such as Pick[cup_0], not {type(action).__name__}"
                raise CallError(SkillCode.UNPARSABLE, words)
            call = parse_call(action)
        except CallError as error:
            result = SkillResult.failure(error.code, f"{error}.")
            return self._observation(result.text), 0.0, False, False, self._info(result)
        self._policy.act(call)
        self._go_on(playing)
        before, self._complete = self._complete, self._run.evaluator.progress.percent_complete
        ended = self._policy.result
        code = playing.result().outcome.code if playing.done() else None
        truncated = code is InstructionCode.STEP_LIMIT
        return (
            self._observation(ended.text if ended is not None else ""),
            self._complete - before,
            code is not None and not truncated,
            truncated,
            self._info(ended),
        )

    def render(self) -> RgbImage | None:
        """The agent's current camera image, H x W x 3; None without a `render_mode`."""
        self._check_open()
        if self.render_mode is None or self._run is None:
            return None
        frame = self._backend.observe(self._agent, ("hand",)).cameras.get("hand")
        return None if frame is None else frame.rgb

    def close(self) -> None:
        """Ends the episode and frees the simulator; again has no effect."""
        self._playing = None
        self._free()
        super().close()

    def _check_open(self) -> None:
        if not self._free.alive:
            raise RuntimeError("the environment is closed")

    def _go_on(self, playing: asyncio.Task[RunResult]) -> None:
        """Runs until the next action is needed, or the end."""

        async def until_wanted() -> None:
            needs_action = asyncio.ensure_future(self._policy.wants_action.wait())
            await asyncio.wait({needs_action, playing}, return_when=asyncio.FIRST_COMPLETED)
            needs_action.cancel()

        self._loop.run_until_complete(until_wanted())

    def _stop(self) -> None:
        playing, self._playing = self._playing, None
        if playing is not None and not playing.done():
            playing.cancel()
            self._loop.run_until_complete(asyncio.wait({playing}))

    def _observation(self, result: str) -> Observation:
        memory = hands = ""
        if self._run is not None:
            belief = self._run.memory.belief(self._backend.now_s())
            rooms = world_description(belief, objects=False)
            memory = f"{rooms}\n{summary(belief, self._agent, states=True)}"
            hands = hand_states(belief.nodes[self._agent].hands)
        texts = {
            "hands": hands,
            "instruction": self._episode.instruction,
            "memory": memory,
            "result": result,
        }
        return {name: _printable(text) for name, text in texts.items()}

    def _info(self, result: SkillResult | None) -> dict[str, Any]:
        return {
            "code": None if result is None else result.code.name,
            "evidence": {} if result is None else dict(result.evidence),
            "percent_complete": self._complete,
        }


class _Policy:
    """The planner of the session: returns the call that `act` receives."""

    name = "policy"

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._call: asyncio.Future[SkillCall] | None = None
        self.wants_action = asyncio.Event()
        self.result: SkillResult | None = None

    async def decide(self, _context: Context) -> Decision:
        self._call = asyncio.get_running_loop().create_future()
        self.wants_action.set()
        return Decision({self._agent: await self._call})

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        for ended in results:
            self.result = ended.result

    def act(self, call: SkillCall) -> None:
        """Stores the agent's next call."""
        self.wants_action.clear()
        self.result = None
        if self._call is not None:
            self._call.set_result(call)


def _understood(instruction: str) -> dict[str, JsonValue]:
    """What an instruction asks for, by rules."""
    found = understand(instruction, ())
    if isinstance(found, Understood):
        return Binder(found.goal).understood
    reason = found.question if isinstance(found, Unclear) else found.text
    raise PlannerError(f"instruction: {reason}")


def _made(name: str, *, pictures: bool) -> Backend:
    """A backend by name, which draws only where pictures are asked for."""
    if pictures and not BACKENDS.get(name).has_pictures:
        raise PlannerError(f"render_mode: the backend {name} has no pictures")
    return make_backend(name, drawn=Drawn(pictures=pictures))


def _free(loop: asyncio.AbstractEventLoop, backend: Backend) -> None:
    pending = asyncio.all_tasks(loop)
    for task in pending:
        task.cancel()
    if pending:
        loop.run_until_complete(asyncio.wait(pending))
    loop.close()
    backend.close()


def _printable(text: str) -> str:
    kept = "".join(character if character in _CHARACTERS else "?" for character in text)
    return kept[:_MAX_OBSERVATION]
