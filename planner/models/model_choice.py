"""Selects models by name or by role, with deadlines and retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.models.chat import (
    MODELS,
    ChatModel,
    Completion,
    ModelBusyError,
    ModelError,
    ModelPart,
    ModelRequest,
    ModelUnavailableError,
    Request,
    Role,
    WrappedModel,
)
from planner.models.recorded import RecordingModel
from planner.parts.option import OptionValue, read_options
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model

# Retries: the one place for deadlines, busy servers and unavailable models.

WAITING = "waiting for model"
_FIRST_WAIT_S, _MAX_WAIT_S = 0.5, 5.0
# A model that returns a partial reply at the deadline first finishes the current token.
_PARTIAL_GRACE_S = 10.0

# Called with `waiting for model: ...` before each wait, and with "" when the model is back.
OnWait = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a failed request is sent again, and the pauses in between in seconds, doubling."""

    max_count: int = 3
    first_wait_s: float = 0.5
    max_wait_s: float = 8.0


def _ignore(_line: str) -> None:
    pass


class RetryingModel(WrappedModel):
    """Repeats a request as long as that may help, so that no episode is lost to a passing failure.

    Failures that may pass are retried within the request's deadline. An unavailable model is waited
    for in addition, with a deadline for each attempt.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        wait_s: float = 0.0,
        retries: Retries | None = None,
        on_wait: OnWait = _ignore,
        first_wait_s: float = _FIRST_WAIT_S,
    ) -> None:
        """Waits at most `wait_s` wall seconds for an unavailable model; 0 = not at all."""
        super().__init__(model)
        self._wait_s, self._first_wait_s = wait_s, first_wait_s
        self._retries = retries or Retries()
        self.on_wait = on_wait

    async def complete(self, request: Request) -> Completion:
        """The wrapped model's reply.

        Raises:
            ModelUnavailableError: if the model did not become available in time.
            ModelError: for all else, including a late reply.
        """
        # Measured from the first failure: the client's own start-up must not count.
        away_since_s: float | None = None
        wait_s = self._first_wait_s
        while True:
            try:
                answer = await self._in_time(request)
            except ModelUnavailableError as error:
                now_s = time.monotonic()
                away_since_s = now_s if away_since_s is None else away_since_s
                away_s = now_s - away_since_s
                left_s = self._wait_s - away_s
                if self._wait_s <= 0:
                    raise
                if left_s <= 0:
                    raise ModelUnavailableError(
                        f"{error}; waited {away_s:.0f} s for the model"
                    ) from None
                self.on_wait(f"{WAITING}: {error}")
                await asyncio.sleep(min(wait_s, left_s))
                wait_s = min(2 * wait_s, _MAX_WAIT_S)
            else:
                if away_since_s is not None:
                    self.on_wait("")
                return answer

    async def _in_time(self, request: Request) -> Completion:
        grace_s = _PARTIAL_GRACE_S if request.accepts_partial else 0.0
        try:
            async with asyncio.timeout(request.deadline_s + grace_s):
                return await self._try(request)
        except TimeoutError:
            raise ModelError(
                f"{self.name}: no complete answer within {request.deadline_s:.1f} s"
            ) from None

    async def _try(self, request: Request) -> Completion:
        wait_s = self._retries.first_wait_s
        for attempt in range(self._retries.max_count + 1):
            try:
                return await self._model.complete(request)
            except ModelBusyError as error:
                if attempt == self._retries.max_count:
                    if not attempt:
                        raise
                    raise type(error)(f"after {attempt + 1} tries: {error}") from None
                await asyncio.sleep(min(max(wait_s, error.wait_s), self._retries.max_wait_s))
                wait_s *= 2
        raise AssertionError("the last try returns or raises")


# The part that a plain model name belongs to.
SERVER = "server"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """Which model to use and how to reach it.

    Attributes:
        model: `PART:SOURCE`, such as `local:FOLDER`; `PART` alone if a part needs no source; any
            other text is a server's name for its model. Empty = none.
        url: base URL of the server, .../v1.
        options: of the part, those that differ from their defaults.
        record: file to which every call is written; "" = none.
        wait_s: how long to wait for an unavailable model, wall seconds.
    """

    model: str = ""
    url: str = ""
    options: Mapping[str, OptionValue] = field(default_factory=dict)
    record: str = ""
    wait_s: float = 0.0

    @property
    def name(self) -> str:
        """The part's name; "" if no model is chosen."""
        return model_part(self.model)

    @property
    def part(self) -> ModelPart:
        """The record of the part.

        Raises:
            PartError: if it cannot be used.
        """
        return MODELS.get(self.name)

    def request(self, episode_id: str = "", seed: int = 0) -> ModelRequest:
        """The arguments for making the model.

        Raises:
            PlannerError: if the URL is missing or not used, or an option is not allowed.
        """
        part, source = self.part, part_and_source(self.model)[1]
        if part.needs_url and not self.url:
            raise PlannerError(f"the parameter model is {source}, but model_url names no server")
        if part.source and not source:
            raise PlannerError(f"the parameter model is {self.model}: expected {part.source}")
        options = read_options(part.options, self.options)
        return ModelRequest(source, self.url, options, episode_id, seed)

    def check(self) -> None:
        """Checks the choice without making the model.

        Raises:
            PlannerError: naming what is wrong.
        """
        if self.model:
            self.part.check(self.request())
        elif self.url:
            raise PlannerError("the parameter model_url is set, but model names no model")


def part_and_source(model: str) -> tuple[str, str]:
    """The part's name and the text after its colon; both empty for no model."""
    if not model:
        return "", ""
    name, colon, source = model.partition(":")
    if name in MODELS.names() and (colon or not MODELS.get(name).source):
        return name, source
    return SERVER, model


def model_part(model: str) -> str:
    """The part's name; empty for no model."""
    return part_and_source(model)[0]


def absolute(model: str) -> str:
    """The same model with an absolute path, if its source is a path."""
    name, source = part_and_source(model)
    if not name or not MODELS.get(name).source_is_path:
        return model
    return f"{name}:{Path(source).resolve()}"


def model_forms() -> str:
    """The forms of a model's name, for help texts: `NAME (of a server), local:FOLDER, ...`."""
    forms = [
        f"{name}:{part.source}" if part.source else name
        for name, part in MODELS.usable().items()
        if name != SERVER
    ]
    return ", ".join(["a server's name for it", *forms])


def make_model(choice: ModelChoice, episode_id: str = "", seed: int = 0) -> RetryingModel | None:
    """As `open_model`, or None if no model is chosen.

    Raises:
        PlannerError: for a URL, a file or an option that cannot be used.
    """
    if choice.model:
        return open_model(choice, episode_id, seed)
    choice.check()
    return None


def open_model(choice: ModelChoice, episode_id: str = "", seed: int = 0) -> RetryingModel:
    """Makes the chosen model with retries and waiting.

    Args:
        choice: which one.
        episode_id: for parts that are made for each episode.
        seed: likewise.

    Raises:
        PlannerError: for a URL, a file or an option that cannot be used.
    """
    choice.check()
    made: ChatModel = choice.part.make(choice.request(episode_id, seed))
    if choice.record:
        made = RecordingModel(made, Path(choice.record))
    return RetryingModel(made, wait_s=choice.wait_s)


# The name of the part, which cannot be in its own file.
ROLES = "roles"


class ChosenModel(FileModel):
    """A model as parameters name it, the URL of its server, and the options of its part."""

    model: str = Field(min_length=1)
    url: str = ""
    options: dict[str, bool | int | float | str] = Field(default_factory=dict)

    @property
    def choice(self) -> ModelChoice:
        """The same for `planner.models.model_choice`."""
        return ModelChoice(self.model, self.url, self.options)


class RoleFile(FileModel):
    """A file that chooses a model for each role; `default` is for roles that are not named.

    ```yaml
    version: 1
    default: {model: Big-72B, url: "http://127.0.0.1:8000/v1"}
    roles:
      verifier: {model: Small-7B, url: "http://127.0.0.1:8001/v1", options: {temperature: 0.2}}
    ```
    """

    version: Literal[1] = 1
    default: ChosenModel
    roles: dict[Role, ChosenModel] = Field(default_factory=dict)


class RoleModels:
    """Passes each request to the model of its role; a `planner.models.chat.ChatModel`."""

    def __init__(self, default: ChatModel, roles: Mapping[Role, ChatModel]) -> None:
        """Roles that are not named use the default; a model may stand for several."""
        self._default, self._roles = default, dict(roles)
        named = (f", {role} {model.name}" for role, model in self._roles.items())
        self.name = f"{default.name}{''.join(named)}"

    async def complete(self, request: Request) -> Completion:
        """The reply of the role's model."""
        return await self._roles.get(request.role, self._default).complete(request)

    async def close(self) -> None:
        """Closes each model once."""
        for model in {id(m): m for m in (self._default, *self._roles.values())}.values():
            await model.close()


def read_role_file(path: Path) -> RoleFile:
    """Reads and checks a file, without making a model.

    Raises:
        FileError: naming the field and the reason.
    """
    file = read_model(path, RoleFile)
    named = {f"roles.{role}": chosen for role, chosen in file.roles.items()}
    for where, chosen in {"default": file.default, **named}.items():
        choice = chosen.choice
        if choice.part.per_episode or choice.name == ROLES:
            raise FileError(path, where, f"{chosen.model} has scripted replies or is by role")
        try:
            choice.check()
        except PlannerError as error:
            raise FileError(path, where, str(error)) from None
    return file


def make_role_models(path: Path) -> RoleModels:
    """Makes the models of a file; equal ones once.

    Raises:
        PlannerError: for a file or model that cannot be used.
    """
    file = read_role_file(path)
    made: dict[str, ChatModel] = {}

    def model(chosen: ChosenModel) -> ChatModel:
        key = chosen.model_dump_json()
        if key not in made:
            choice = chosen.choice
            made[key] = choice.part.make(choice.request())
        return made[key]

    return RoleModels(model(file.default), {role: model(c) for role, c in file.roles.items()})
