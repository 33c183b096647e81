"""The house, task and settings of a bag."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from planner.replay.bag import Bag
from planner.replay.task import task_of
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_json, parse_yaml
from planner.world.house import House
from planner.world.house_checks import load_shipped_house

_PARAMETERS = "parameters.yaml"
_RECORDS = ("planner.start", "planner.recording")
# Keys of recorder metadata that describe the software rather than one recording.
_VERSIONS = ("version", "ros_distro", "python", "platform", "packages", "images", "image_hz")
_MAX_SETTINGS = 5000
_MAX_SETTING_CHARS = 400


@dataclass(frozen=True, slots=True)
class Task:
    """The house and the episode of a bag; None if neither the bag nor the machine has it.

    `reason`: why something is missing; "" if nothing is.
    """

    house: House | None
    episode: Episode | None
    reason: str = ""


def find_task(bag: Bag, episode_id: str, house: str) -> Task:
    """Finds the house and the episode: in the bag, else among the shipped ones, by name."""
    if not house and not episode_id:
        return Task(None, None, "the bag names no house")
    try:
        episode, found = task_of(bag, episode_id, house)
    except PlannerError as error:
        reason = str(error).replace(str(bag.folder), bag.folder.name)
    else:
        # The shipped episode of that name may have another house.
        if not house or found.name == house:
            return Task(found, episode)
        reason = f"the shipped episode {episode_id} is of another house"
    try:
        return Task(load_shipped_house(house), None, reason)
    except PlannerError:
        return Task(None, None, reason)


def settings_of(bag: Bag) -> dict[str, str]:
    """Versions, and the nodes' parameters as "node.parameter", at the time of recording.

    Raises:
        FileError: if the bag cannot be read.
    """
    found: dict[str, str] = {}
    for name in _RECORDS:
        record = bag.metadata.get(name, {})
        _flatten({key: _parsed(record[key]) for key in _VERSIONS if key in record}, "", found)
    text = bag.attachments().get(_PARAMETERS)
    if text is not None:
        try:
            _flatten(parse_yaml(text.decode("utf-8"), _PARAMETERS), "", found)
        except (FileError, ValueError):
            found[_PARAMETERS] = "cannot be read"
    return dict(sorted(found.items()))


def _parsed(text: str) -> object:
    if not text.startswith("{"):
        return text
    try:
        return parse_json(text, "")
    except FileError:
        return text


def _flatten(value: object, name: str, into: dict[str, str]) -> None:
    if len(into) >= _MAX_SETTINGS:
        return
    if isinstance(value, Mapping):
        for key, inner in value.items():
            word = str(key).strip("/")
            # ROS parameter files have a node's parameters below this key.
            below = name if word == "ros__parameters" else f"{name}.{word}".strip(".")
            _flatten(inner, below, into)
        return
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    into[name[:_MAX_SETTING_CHARS]] = text[:_MAX_SETTING_CHARS]
