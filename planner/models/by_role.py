"""A model of its own for each role, chosen by a file.

```yaml
version: 1
default: {model: Big-72B, url: "http://127.0.0.1:8000/v1"}
roles:
  verifier: {model: Small-7B, url: "http://127.0.0.1:8001/v1", options: {temperature: 0.2}}
```
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from planner.models.chat import ChatModel, Completion, Request
from planner.models.model_choice import ModelChoice
from planner.models.role import Role
from planner.world.errors import FileError, PlannerError
from planner.world.files import FileModel, read_model

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
    """The file: `default` is for roles that are not named."""

    version: Literal[1] = 1
    default: ChosenModel
    roles: dict[Role, ChosenModel] = Field(default_factory=dict)


class RoleModels:
    """Passes each request to the model of its role; a `planner.models.chat.ChatModel`."""

    def __init__(self, default: ChatModel, roles: Mapping[Role, ChatModel]) -> None:
        """Roles that are not named use the default; a model may stand for several."""
        self._default, self._roles = default, dict(roles)
        named = (f", {role} {model.name}" for role, model in self._roles.items())
        self._name = f"{default.name}{''.join(named)}"

    @property
    def name(self) -> str:
        """The models' names, with their roles."""
        return self._name

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
    for field, chosen in {"default": file.default, **named}.items():
        choice = chosen.choice
        if choice.part.per_episode or choice.name == ROLES:
            raise FileError(path, field, f"{chosen.model} has scripted replies or is by role")
        try:
            choice.check()
        except PlannerError as error:
            raise FileError(path, field, str(error)) from None
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
