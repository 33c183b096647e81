"""`planner episodes draw`: an episode, or an instruction as it is understood, as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from planner.episodes.drawing.picture import Task, draw_episode, draw_task
from planner.episodes.drawing.shapes import Picture, image_of, svg_text
from planner.episodes.start_state import start_entities
from planner.evaluation.language import read_evaluation
from planner.grounding.binding import Choice
from planner.grounding.grounder import Binder
from planner.grounding.scene import scene_of_state
from planner.language.goal_form import Goal
from planner.world.catalogue import default_catalogue
from planner.world.episode import AgentPlacement, Episode
from planner.world.errors import FileError
from planner.world.files import writing
from planner.world.house import House
from planner.world.house_checks import load_episode, load_house
from planner.world.state import WorldState
from planner.world.vocabulary import AgentKind

# Draws what an instruction in words is understood to mean in a house.


def draw_understood(
    text: str, goal: Goal, house: House, choices: Mapping[str, Choice] | None = None
) -> Picture:
    """Draws a goal over descriptions, bound to a house as its file has it.

    Where several things fit, all of them are drawn as alternatives.

    Args:
        text: the instruction.
        goal: what was understood of it.
        house: where it is carried out.
        choices: what was answered about it.
    """
    robot = AgentPlacement(uid="agent_0", kind=AgentKind.ROBOT)
    start = Episode(
        version=1,
        episode_id="start",
        house=house.name,
        instruction=text,
        agents=(robot,),
        objects=house.objects,
    )
    entities = start_entities(start, house, default_catalogue())
    scene = scene_of_state(WorldState(0.0, 0, 0, house.name, "", entities), house)
    found = Binder(goal, choices, settle=True).update(scene)
    asked = Binder(goal, choices).update(scene).questions
    evaluation = None
    if found.evaluation is not None:
        evaluation = read_evaluation(dict(found.evaluation), "the goal as understood")
    remarks = [f"{number}. {words}" for number, words in enumerate(found.request_words, 1)]
    remarks += [f"Not possible: {part.text}" for part in found.unbound if part.fails]
    remarks += [part.text for part in found.unbound if not part.fails]
    remarks += [f"To be asked: {question.text}" for question in asked]
    return draw_task(Task("As understood", house.name, text, evaluation, entities, tuple(remarks)))


# Writes a picture as PNG or SVG.

_SCALE = 1.5


def write_picture(picture: Picture, path: Path) -> None:
    """Writes a picture as SVG or PNG, by the file's name; creates its folder.

    Raises:
        FileError: if it cannot be written.
    """
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix.lower() == ".svg":
            path.write_text(svg_text(picture), encoding="utf-8")
        else:
            # So few colours that a palette, with which files are a third as large, has them all.
            image_of(picture, _SCALE).quantize(128).save(path, format="PNG", optimize=True)


Understand = Callable[[str], Goal]
"""Reads an instruction; raises PlannerError with the question or the refusal."""


def draw(name: str, output: Path | None, house: str, understand: Understand | None) -> int:
    """Draws an episode, or an instruction as it is understood, and prints where.

    Args:
        name: of a shipped episode, a path, or an instruction in words.
        output: a file `.png` or `.svg`; None: `NAME.png` or `understood.png` in this folder.
        house: for an instruction.
        understand: reads an instruction; None: only episodes are drawn.

    Raises:
        PlannerError: if it cannot be read, understood, drawn or written.
    """
    if output is not None and output.suffix.lower() not in (".png", ".svg"):
        raise FileError(output, "", "expected a name that ends in .png or .svg")
    if understand is not None and len(name.split()) > 1 and Path(name).suffix != ".json":
        picture, stem = draw_understood(name, understand(name), load_house(house)), "understood"
    else:
        picture, stem = draw_episode(*load_episode(name)), Path(name).stem
    path = output or Path(f"{stem}.png")
    write_picture(picture, path)
    print(path)
    return 0
