"""VirtualHome's programs: played in the graph world, and compared with the graph of their end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from planner.world.catalogue import default_catalogue
from planner.world.episode import AgentPlacement, Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import parse_model, read_document
from planner.world.graph_file import HOLDS, Graph, GraphFile, mended_graph
from planner.world.graph_house import house_of_graph
from planner.world.vocabulary import AgentKind, held_things
from sim_bridge.graph.acting import Action, act, script_action
from sim_bridge.graph.scene import start_of
from sim_bridge.graph.world import GraphWorld

# The folders of the published data sets, of programs and of their graphs.
PROGRAMS, GRAPHS = "executable_programs", "init_and_final_graphs"
_AGENT = "agent_0"
MAX_LINES = 1_000


@dataclass(frozen=True, slots=True)
class Played:
    """What became of a program.

    Attributes:
        problem: the action that could not be carried out, with the line, or a difference from the
            graph of the end; "" if the program reached that.
        ran: whether all actions were carried out.
    """

    problem: str
    ran: bool


def read_program(path: Path) -> tuple[Action, ...]:
    """The actions of a program's file; lines without brackets are its title and description.

    Raises:
        FileError: with file, line and reason.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, "", f"cannot be read: {error}") from None
    if len(lines) > MAX_LINES:
        raise FileError(path, "", f"has {len(lines)} lines, more than {MAX_LINES}")
    actions = []
    for number, line in enumerate(lines, start=1):
        if not line.lstrip().startswith(("[", "<char")):
            continue
        try:
            actions.append(script_action(line))
        except PlannerError as error:
            raise FileError(path, f"line {number}", str(error)) from None
    if not actions:
        raise FileError(path, "", "has no action")
    return tuple(actions)


def read_graphs(path: Path) -> tuple[Graph, Graph]:
    """The graphs before and after a program, mended as `planner houses check` says of the first.

    Raises:
        FileError: with file, field and reason.
    """
    found = parse_model(read_document(path), GraphFile, path)
    if found.final_graph is None:
        raise FileError(path, "final_graph", "is missing")
    for name, graph in (("init_graph", found.init_graph), ("final_graph", found.final_graph)):
        if not any(node.is_room for node in graph.nodes):
            raise FileError(path, f"{name}.nodes", "there is no room")
    start, _ = mended_graph(found.init_graph, path, "init_graph.")
    end, _ = mended_graph(_held_once(found.final_graph), path, "final_graph.")
    return start, end


def _held_once(graph: Graph) -> Graph:
    """A graph of an end, where VirtualHome's own executor may hold a thing in both hands."""
    held: set[int] = set()
    edges = []
    for edge in graph.edges:
        if edge.relation_type in HOLDS:
            if edge.to_id in held:
                continue
            held.add(edge.to_id)
        edges.append(edge)
    return graph.model_copy(update={"edges": tuple(edges)})


def world_of(graph: Graph) -> GraphWorld:
    """A world in which one person acts, from where the graph's character is."""
    house = house_of_graph(graph, "graph")
    person = AgentPlacement(uid=_AGENT, kind=AgentKind.HUMAN)
    episode = Episode(
        version=1, episode_id="program", house=house.name, instruction="", agents=(person,)
    )
    return GraphWorld(start_of(house, episode, default_catalogue()), episode)


def play_program(actions: tuple[Action, ...], start: Graph, end: Graph) -> Played:
    """Plays a program's actions, each of which has to be possible, and compares the end."""
    world = world_of(start)
    for number, action in enumerate(actions, start=1):
        missing = act(world, _AGENT, action)
        if missing is not None:
            target = " ".join(word for word in (action.target, action.place) if word)
            step = f"action {number}, {action.verb} {target}".rstrip()
            return Played(f"{step}: violated precondition: {missing}", ran=False)
    difference = next(differences(world, world_of(end)), "")
    return Played(difference, ran=True)


def differences(world: GraphWorld, wanted: GraphWorld) -> Iterator[str]:
    """What is another way in a world than in a wanted one; positions, which graphs lack, aside."""
    who, other = world.agents[_AGENT], wanted.agents[_AGENT]
    if who.room != other.room:
        yield f"the agent is in {who.room}, not in {other.room}"
    if who.rest != other.rest:
        yield f"the agent {_resting(who.rest)}, not {_resting(other.rest)}"
    held, due = (set(held_things(agent.hands)) for agent in (who, other))
    if held != due:
        yield f"the hands hold {sorted(held)}, not {sorted(due)}"
    for name in wanted.nodes:
        if name not in world.nodes:
            yield f"there is no {name}"
        elif world.place_of(name) != wanted.place_of(name):
            yield f"{name} is {_place(world, name)}, not {_place(wanted, name)}"
        elif world.states_of(name) != wanted.states_of(name):
            yield f"{name} has the states {world.states_of(name)}, not {wanted.states_of(name)}"
        elif world.is_open(name) != wanted.is_open(name):
            yield f"{name} is {'open' if world.is_open(name) else 'closed'}"
        elif world.is_plugged_in(name) != wanted.is_plugged_in(name):
            yield f"{name} is {'' if world.is_plugged_in(name) else 'not '}plugged in"


def _resting(rest: tuple[str, str] | None) -> str:
    return "stands" if rest is None else f"is {rest[0]} on {rest[1] or 'something'}"


def _place(world: GraphWorld, name: str) -> str:
    place = world.place_of(name)
    return "nowhere" if place is None else f"{place[0]} {place[1]}"


def paired(folder: Path) -> list[tuple[Path, Path]]:
    """The programs under a folder of a published data set, each with the file of its graphs.

    Raises:
        FileError: if there is no program.
    """
    pairs = []
    for program in sorted(folder.rglob("*.txt")):
        inner = program.relative_to(folder).parts
        if PROGRAMS in inner:
            place = inner.index(PROGRAMS)
            graphs = folder.joinpath(*inner[:place], GRAPHS, *inner[place + 1 :])
            pairs.append((program, graphs.with_suffix(".json")))
    if not pairs:
        raise FileError(folder, "", f"has no folder {PROGRAMS} with programs (*.txt)")
    return pairs
