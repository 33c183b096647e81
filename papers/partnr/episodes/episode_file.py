"""Reads PARTNR's published episode files: `{"config": ..., "episodes": [...]}`, gzipped.

Episodes use simulator handles (`a1b2_:0000`). The names of objects, furniture and rooms come from
PARTNR's metadata files (one per episode) if available; otherwise from the episode's own records of
its initial state, as far as these are unambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.episodes.importing.foreign import parse_foreign, read_foreign
from planner.episodes.importing.importer import Fault
from planner.world.errors import FileError, from_validation
from planner.world.files import parse_model

MAX_EPISODES = 200_000
MAX_ENTITIES = 20_000
_NUMBERED = re.compile(r"^(?P<stem>[a-z][a-z0-9_-]*)_(?P<index>\d{1,4})$")

Word = Annotated[str, Field(min_length=1, max_length=300)]
NameMap = Annotated[dict[Word, Word], Field(max_length=MAX_ENTITIES)]
Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.|-]{0,80}$")]
Matrix = Annotated[tuple[Annotated[tuple[float, ...], Field(min_length=4, max_length=4)], ...],
                   Field(min_length=3, max_length=4)]  # fmt: skip

# Fields that are ignored: simulator settings, and targets that PARTNR does not use.
UNUSED = frozenset(
    {"scene_dataset_config", "additional_obj_config_paths", "start_position", "start_rotation"}
    | {"targets", "target_receptacles", "goal_receptacles", "markers", "goals", "shortest_paths"}
    | {"start_room", "additional_object_paths", "scene_state", "config", "_shortest_path_cache"}
    | {"object_handle_to_objectid", "camera_resolution", "dataset"}
)


class _Lenient(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class PartnrRecord(_Lenient):
    """A record of the initial state: `number` objects of a class on furniture in a region."""

    number: Annotated[int, Field(ge=0, le=50)] = 1
    object_classes: tuple[Word, ...] = ()
    furniture_names: tuple[Word, ...] = ()
    allowed_regions: tuple[Word, ...] = ()
    name: str | None = None
    template_task_number: object = None
    location: str = "on"

    @property
    def is_of_the_task(self) -> bool:
        """Whether it concerns the task's objects rather than clutter."""
        of_template = self.template_task_number is not None
        return self.name is None and not of_template and bool(self.object_classes)


class _Extra(_Lenient):
    initial_state: tuple[PartnrRecord, ...] = ()


class _Info(_Lenient):
    initial_state: tuple[PartnrRecord, ...] = ()
    extra_info: _Extra | None = None


class PartnrEpisode(BaseModel):
    """One episode of a file; the evaluation is read later, by `evaluation_text`."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)

    episode_id: Identifier | Annotated[int, Field(ge=0)]
    scene_id: Identifier
    instruction: Annotated[str, Field(min_length=1, max_length=4000)]
    rigid_objs: Annotated[tuple[tuple[Word, Matrix], ...], Field(max_length=500)] = ()
    name_to_receptacle: Annotated[dict[Word, Word], Field(max_length=500)] = {}
    ao_states: Annotated[dict[Word, dict[Word, float]], Field(max_length=MAX_ENTITIES)] = {}
    object_states: Annotated[
        dict[Word, Annotated[dict[Word, bool], Field(max_length=MAX_ENTITIES)]],
        Field(max_length=20),
    ] = {}
    info: _Info = _Info()
    evaluation_propositions: object = None
    evaluation_proposition_dependencies: object = None
    evaluation_constraints: object = None

    @property
    def task(self) -> str:
        """Its id in a form suitable for file names."""
        return re.sub(r"[^A-Za-z0-9_.-]", "-", str(self.episode_id))

    @property
    def records(self) -> tuple[PartnrRecord, ...]:
        """The records of the task's own objects."""
        extra = self.info.extra_info
        found = self.info.initial_state or (extra.initial_state if extra is not None else ())
        return tuple(record for record in found if record.is_of_the_task)

    @property
    def unknown_fields(self) -> list[str]:
        """Fields of the file that are unknown here."""
        return sorted(set(self.model_extra or {}) - UNUSED)


@dataclass(frozen=True, slots=True)
class PartnrFile:
    """A file's readable episodes by index, and the fault of each other one."""

    path: Path
    sha256: str
    episodes: tuple[PartnrEpisode, ...]
    faults: tuple[Fault, ...]


def read_partnr_file(path: Path) -> PartnrFile:
    """Reads `*.json.gz` or `*.json`.

    Raises:
        FileError: if it is not an episode file; a single bad episode is a `Fault`.
    """
    file = read_foreign(path)
    document = parse_foreign(file.text, path)
    entries = document.get("episodes") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise FileError(path, "episodes", "is not a list; this is not a PARTNR episode file")
    if len(entries) > MAX_EPISODES:
        raise FileError(path, "episodes", f"has more than {MAX_EPISODES} entries")
    episodes: list[PartnrEpisode] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        try:
            episode = PartnrEpisode.model_validate(entry)
        except ValidationError as error:
            plain = from_validation(path, error)
            faults.append(Fault(path.name, _label(entry, index), f"{plain.field}: {plain.reason}"))
            continue
        if episode.task in seen:
            faults.append(Fault(path.name, episode.task, "episode_id: is used twice"))
            continue
        seen.add(episode.task)
        episodes.append(episode)
    return PartnrFile(path, file.sha256, tuple(episodes), tuple(faults))


def _label(entry: object, index: int) -> str:
    found = entry.get("episode_id") if isinstance(entry, dict) else None
    return found[:80] if isinstance(found, str) else f"entry {index}"


class _Metadata(_Lenient):
    object_to_handle: NameMap = {}
    recep_to_handle: NameMap = {}
    room_to_id: NameMap = {}
    recep_to_room: NameMap = {}
    # The names of these fields in PARTNR's cache of a whole scene.
    receptacle_to_handle: NameMap = {}
    furniture: dict[Word, tuple[Word, ...]] = {}


@dataclass
class PartnrNames:
    """What handles refer to: `<class>_<n>` by handle, and the room of furniture by name."""

    objects: dict[str, str] = field(default_factory=dict)
    furniture: dict[str, str] = field(default_factory=dict)
    rooms: dict[str, str] = field(default_factory=dict)
    room_of: dict[str, str] = field(default_factory=dict)


def names_of(episode: PartnrEpisode, metadata: Path | None) -> PartnrNames:
    """The names of an episode's handles.

    Args:
        episode: of a file.
        metadata: a folder with `episode_ID.json` or `ID.json`, or `SCENE.json` for a scene.

    Raises:
        FileError: if a metadata file is invalid.
    """
    names = PartnrNames()
    _from_records(names, episode)
    for stem in (episode.scene_id, episode.task, f"episode_{episode.task}"):
        path = metadata / f"{stem}.json" if metadata is not None else None
        if path is not None and path.is_file():
            document = parse_foreign(read_foreign(path).text, path)
            _from_metadata(names, parse_model(document, _Metadata, path))
    return names


def _from_metadata(names: PartnrNames, found: _Metadata) -> None:
    receptacles = {**found.receptacle_to_handle, **found.recep_to_handle}
    names.objects.update((handle, name) for name, handle in found.object_to_handle.items())
    names.furniture.update((handle, name) for name, handle in receptacles.items())
    names.rooms.update((handle, name) for name, handle in found.room_to_id.items())
    for room, pieces in found.furniture.items():
        names.room_of.update((piece, room) for piece in pieces)
    names.room_of.update(found.recep_to_room)


def _from_records(names: PartnrNames, episode: PartnrEpisode) -> None:
    """Names from the initial state: PARTNR lists objects in the order of its records."""
    handles = list(episode.name_to_receptacle)
    counts: dict[str, int] = {}
    at = 0
    for record in episode.records:
        for _ in range(record.number):
            if at >= len(handles):
                return
            class_name = record.object_classes[0]
            index = counts.get(class_name, 0)
            counts[class_name] = index + 1
            names.objects[handles[at]] = f"{class_name}_{index}"
            _furniture_from(names, record, episode.name_to_receptacle[handles[at]])
            at += 1


def _furniture_from(names: PartnrNames, record: PartnrRecord, receptacle: str) -> None:
    """Names the furniture of a record that allows only one piece in one region."""
    handle = receptacle.split("|")[0]
    if len(record.furniture_names) != 1 or handle == "floor":
        return
    (name,) = record.furniture_names
    if split_name(name) is None:
        return
    names.furniture.setdefault(handle, name)
    if len(record.allowed_regions) == 1:
        names.room_of.setdefault(name, record.allowed_regions[0])


def split_name(name: str) -> tuple[str, int] | None:
    """`chest_of_drawers_4` as class and number; None if there is no number."""
    match = _NUMBERED.match(name)
    return (match["stem"], int(match["index"])) if match else None


def region_of(handle: str, episode: PartnrEpisode) -> str | None:
    """The region of an object on the floor, by its record; None if several are allowed."""
    at = list(episode.name_to_receptacle).index(handle)
    for record in episode.records:
        if at < record.number:
            return record.allowed_regions[0] if len(record.allowed_regions) == 1 else None
        at -= record.number
    return None


def open_pieces(states: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The handles of open furniture."""
    return sorted(h for h, joints in states.items() if any(abs(v) > 0.05 for v in joints.values()))
