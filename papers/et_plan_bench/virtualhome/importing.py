"""VirtualHome-style graphs as episodes: nodes with classes and states, edges with relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import JsonValue

from planner.episodes.importing.foreign import (
    ForeignFile,
    ForeignScene,
    ForeignThing,
    parse_foreign,
    place_things,
    read_foreign,
)
from planner.episodes.importing.importer import (
    AGENTS,
    Fault,
    Imported,
    ImporterPart,
    Underived,
    UnplaceableError,
)
from planner.episodes.importing.simulator_words import (
    SimulatorWord,
    SimulatorWords,
    WordKind,
    scene_seed,
)
from planner.episodes.lint.goal import task_types
from planner.evaluation.entity_checks import entity_findings, facts_of_episode
from planner.evaluation.language import read_evaluation
from planner.world.catalogue import Catalogue, default_catalogue
from planner.world.episode import EPISODE_VERSION, Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_model
from planner.world.graph_file import Graph, GraphFile, structure_findings
from planner.world.house import House
from planner.world.house_checks import check_episode
from planner.world.receptacle import holds_things, part_by_word
from planner.world.states import default_states
from planner.world.vocabulary import Relation

# Where everything is in a VirtualHome graph.


@dataclass(frozen=True, slots=True)
class NodePlace:
    """What an object is on or in: a node and the relation; None for somewhere in the room."""

    node: int
    relation: Relation | None


class GraphLayout:
    """A graph's entities by their kind in our houses."""

    def __init__(self, graph: Graph, words: SimulatorWords) -> None:
        self.nodes = {node.id: node for node in graph.nodes}
        self.known: dict[int, SimulatorWord] = {}
        self.strange: list[str] = []
        for node in graph.nodes:
            found = words.find(node.class_name)
            if found is not None:
                self.known[node.id] = found
            elif "GRABBABLE" in node.properties:
                self.strange.append(f"{node.class_name}_{node.id} has no class of the catalogue")
        self._on: dict[int, list[tuple[str, int]]] = {}
        for edge in graph.edges:
            self._on.setdefault(edge.from_id, []).append((edge.relation_type, edge.to_id))

    def of_kind(self, kind: WordKind) -> Iterator[int]:
        """The nodes of a kind, in the graph's order."""
        return (number for number, word in self.known.items() if word.kind is kind)

    def room_of(self, number: int) -> int | None:
        """The room that contains a node, directly or through what it is in."""
        waiting, seen = [number], {number}
        while waiting:
            node = waiting.pop(0)
            for relation, other in self._on.get(node, ()):
                if relation not in ("INSIDE", "ON") or other in seen:
                    continue
                if other in self.known and self.known[other].kind is WordKind.ROOM:
                    return other
                seen.add(other)
                waiting.append(other)
        return None

    def place_of(self, number: int) -> NodePlace | None:
        """What an object is in or on: a thing before furniture, inside before on top."""
        holder = self._holder(number)
        if holder is not None and not self._is_held_by(holder.node, number):
            return holder
        for place in self._places(number, WordKind.FURNITURE):
            return place
        room = self.room_of(number)
        return NodePlace(room, None) if room is not None else None

    def _places(self, number: int, place_kind: WordKind) -> Iterator[NodePlace]:
        for name, relation in (("INSIDE", Relation.WITHIN), ("ON", Relation.ON)):
            for kind, other in self._on.get(number, ()):
                word = self.known.get(other)
                if kind == name and word is not None and word.kind is place_kind:
                    yield NodePlace(other, relation)

    def _holder(self, number: int) -> NodePlace | None:
        """The thing that an object is in or on, if things of that class hold others here."""
        for place in self._places(number, WordKind.OBJECT):
            name = self.known[place.node].class_name
            if place.node != number and holds_things(name):
                relation = place.relation
                if relation is not None and part_by_word(name, relation) is None:
                    relation = Relation.ON if relation is Relation.WITHIN else Relation.WITHIN
                return NodePlace(place.node, relation)
        return None

    def _is_held_by(self, number: int, other: int) -> bool:
        """Whether a thing is in or on another one, however deep; also where the graph circles."""
        seen = {number}
        while (place := self._holder(number)) is not None:
            number = place.node
            if number == other or number in seen:
                return True
            seen.add(number)
        return False

    def states_of(self, number: int) -> dict[str, bool]:
        """Those of a node's states that we have."""
        words = self.nodes[number].states
        known = default_states().graph_words
        return dict(known[word.upper()] for word in words if word.upper() in known)


DATASET = "virtualhome-graph"


def import_graphs(paths: Sequence[Path], seed: int) -> Imported:
    """Makes an episode of each file.

    Raises:
        FileError: if two files share a name; a bad graph is a `Fault`.
    """
    catalogue = default_catalogue()
    words = SimulatorWords(catalogue)
    read: dict[str, int] = {}
    episodes: list[Episode] = []
    houses: dict[str, House] = {}
    left_out: list[Fault] = []
    goalless: list[Underived] = []
    for path in paths:
        if path.name in read:
            raise FileError(path, "", "a file of this name was given already")
        read[path.name] = 1
        try:
            file = read_foreign(path)
            made = _GraphEpisode(file, _parsed(file), seed, catalogue, words)
            episode, house, reason = made.made()
        except FileError as error:
            left_out.append(Fault(path.name, "", f"{error.field}: {error.reason}".lstrip(": ")))
            continue
        except (UnplaceableError, PlannerError) as error:
            left_out.append(Fault(path.name, "", str(error)))
            continue
        if episode.episode_id in {known.episode_id for known in episodes}:
            left_out.append(Fault(path.name, "", "another file gives the same name"))
            continue
        episodes.append(episode)
        houses[house.name] = house
        if episode.evaluation is None:
            goalless.append(Underived(episode.episode_id, reason))
    return Imported(DATASET, read, tuple(episodes), tuple(left_out), houses, tuple(goalless))


def _parsed(file: ForeignFile) -> GraphFile:
    document = parse_foreign(file.text, file.path)
    if isinstance(document, dict) and "nodes" in document:
        document = {"init_graph": document, "instruction": document.get("instruction", "")}
    found = parse_model(document, GraphFile, file.path)
    for name, graph in (("init_graph", found.init_graph), ("final_graph", found.final_graph)):
        if graph is not None:
            for field, reason in structure_findings(graph):
                raise FileError(file.path, f"{name}.{field}", reason)
    return found


class _GraphEpisode:
    """The conversion of one file to an episode."""

    def __init__(
        self,
        file: ForeignFile,
        document: GraphFile,
        seed: int,
        catalogue: Catalogue,
        words: SimulatorWords,
    ) -> None:
        self._file = file
        self._document = document
        self._catalogue = catalogue
        self._start = GraphLayout(document.init_graph, words)
        self._end = (
            GraphLayout(document.final_graph, words) if document.final_graph is not None else None
        )
        self._stem = "".join(c if c.isalnum() and c.isascii() else "-" for c in file.path.stem)
        self._name = f"virtualhome-{self._stem}"
        self._seed = scene_seed(seed, self._name)
        self._scene = ForeignScene()
        self._notes = list(self._start.strange)

    def made(self) -> tuple[Episode, House, str]:
        """The episode, its house, and why it has no evaluation, if it has none."""
        changes = list(self._changes())
        things = self._things(self._needed(changes))
        for _, predicate, target in changes:
            if self._start.known[target].kind is WordKind.OBJECT:
                continue
            if predicate in ("is_on_top", "is_inside"):
                self._add_piece(target)
            elif predicate == "is_in_room":
                self._add_room(target)
            elif self._start.known[target].kind is WordKind.FURNITURE:
                self._add_piece(target)
        if not self._scene.rooms:
            raise UnplaceableError("the graph has no room that holds anything")
        house = self._scene.house(self._name, self._seed, self._catalogue).house
        rng = np.random.default_rng(self._seed)
        placed, crowded = place_things(house, things, rng, self._catalogue)
        self._notes += crowded
        names = {int(number): item.name for number, item in placed.items()}
        evaluation, reason = self._evaluation(changes, names, house)
        document: dict[str, object] = {
            "version": EPISODE_VERSION,
            "episode_id": self._name,
            "house": house.name,
            "instruction": " ".join((self._document.instruction or self._document.task).split()),
            "seed": self._seed,
            "agents": AGENTS,
            "objects": tuple(placed.values()),
            "furniture": self._furniture(house),
            "source": self._source(),
        }
        episode = parse_model(document, Episode, self._file.path)
        for finding in check_episode(episode, house, self._catalogue):
            raise FileError(self._file.path, finding.field, finding.reason)
        if evaluation is None:
            return episode, house, reason
        read = read_evaluation(evaluation, self._file.path)
        facts = facts_of_episode(episode, house, self._catalogue)
        unfit = next(iter(entity_findings(read, facts)), None)
        if unfit is not None:
            return episode, house, f"the evaluation language cannot say it: {unfit[1]}"
        goal = {"evaluation": evaluation, "task_types": task_types(read)}
        return parse_model({**document, **goal}, Episode, self._file.path), house, ""

    def _source(self) -> dict[str, object]:
        return {
            "dataset": DATASET,
            "file": self._file.path.name,
            "scene_id": self._stem,
            "episode_id": self._stem,
            "sha256": self._file.sha256,
            "fitted": True,
            "not_taken": tuple(self._notes),
        }

    def _changes(self) -> Iterator[tuple[int, str, int]]:
        """(object, predicate, place) that hold in the final graph but not in the initial one."""
        if self._end is None:
            return
        for number, node in self._end.nodes.items():
            if number not in self._start.nodes:
                self._notes.append(f"{node.class_name}_{number} is only in the graph of the end")
            if number not in self._start.known:
                continue
            if self._start.known[number].kind is WordKind.OBJECT:
                before, after = self._start.place_of(number), self._end.place_of(number)
                if after is not None and before != after and after.node in self._start.known:
                    ways = {
                        Relation.ON: "is_on_top",
                        Relation.WITHIN: "is_inside",
                        None: "is_in_room",
                    }
                    yield number, ways[after.relation], after.node
            old = self._start.states_of(number)
            for state, value in self._end.states_of(number).items():
                if old.get(state) != value:
                    yield number, default_states().predicate(state, value=value), number

    def _needed(self, changes: Sequence[tuple[int, str, int]]) -> set[int]:
        """The things that the goal is about, and those that hold them at the start."""
        known, needed = self._start.known, set[int]()
        waiting = [n for number, _, target in changes for n in (number, target)]
        while waiting:
            number = waiting.pop()
            if number in needed or known[number].kind is not WordKind.OBJECT:
                continue
            needed.add(number)
            place = self._start.place_of(number)
            waiting += [place.node] if place is not None else []
        return needed

    def _things(self, asked: set[int]) -> list[ForeignThing]:
        things: list[ForeignThing] = []
        for number in self._start.of_kind(WordKind.OBJECT):
            word = self._start.known[number]
            place = self._start.place_of(number)
            needed = number in asked
            label = f"{self._start.nodes[number].class_name}_{number}"
            try:
                if place is None:
                    raise UnplaceableError(f"{label} is in no room")
                parent = self._parent(place.node)
            except UnplaceableError as error:
                if needed:
                    raise
                self._notes.append(f"{label}: {error}")
                continue
            if word.nearest:
                self._notes.append(f"{label} is a {word.class_name} here")
            affordances = self._catalogue.objects[word.class_name].affordances
            states = {
                state: value
                for state, value in self._start.states_of(number).items()
                if default_states().affordance_of[state] in affordances
            }
            things.append(
                ForeignThing(str(number), word.class_name, parent, place.relation, states, needed)
            )
        return things

    def _parent(self, number: int) -> str:
        kind = self._start.known[number].kind
        if kind is WordKind.OBJECT:
            return str(number)
        return self._add_room(number) if kind is WordKind.ROOM else self._add_piece(number)

    def _add_room(self, number: int) -> str:
        word = self._start.known[number]
        return self._scene.add_room(str(number), word.class_name)

    def _add_piece(self, number: int) -> str:
        room = self._start.room_of(number)
        word = self._start.known[number]
        name = f"{word.class_name}_{number}"
        if room is None:
            raise UnplaceableError(f"{name} is in no room")
        self._scene.add_piece(name, word.class_name, self._add_room(room))
        return name

    def _furniture(self, house: House) -> dict[str, object]:
        changes: dict[str, object] = {}
        for number in self._start.of_kind(WordKind.FURNITURE):
            piece = house.furniture_by_name.get(f"{self._start.known[number].class_name}_{number}")
            if piece is None:
                continue
            change: dict[str, object] = {}
            if "OPEN" in self._start.nodes[number].states and piece.joints:
                change["open"] = True
            states = {
                state: value
                for state, value in self._start.states_of(number).items()
                if default_states().affordance_of[state] in piece.affordances
            }
            if states:
                change["states"] = states
            if change:
                changes[piece.name] = change
        return changes

    def _evaluation(
        self, changes: Sequence[tuple[int, str, int]], names: Mapping[int, str], house: House
    ) -> tuple[dict[str, JsonValue] | None, str]:
        if self._end is None:
            return None, "the file has no graph of the end"
        if not changes:
            return None, "nothing that we know differs between the two graphs"
        propositions: list[JsonValue] = []
        for number, predicate, target in changes:
            word = self._start.known[number]
            name = names.get(number, f"{word.class_name}_{number}")
            args: dict[str, JsonValue] = {"objects": [name]}
            if predicate == "is_in_room":
                args["rooms"] = [self._scene.rooms[str(target)]]
            elif predicate in ("is_on_top", "is_inside"):
                place = names.get(target, f"{self._start.known[target].class_name}_{target}")
                args["receptacles"] = [place]
                piece = house.furniture_by_name.get(place)
                if predicate == "is_inside" and piece is not None and not piece.interiors:
                    predicate = "is_on_top"
            propositions.append({"function_name": predicate, "args": args})
        return {"propositions": propositions}, ""


IMPORTER = ImporterPart(
    summary="VirtualHome-style graphs in JSON",
    read=lambda args: import_graphs(args.files, args.seed),
)
