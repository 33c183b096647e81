"""`planner run`: the story and the picture of the demo, its planners, models and memories."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from PIL import Image
from run_scripts import write_scripts

from planner.app.embedded_run import backend_agents, prepare_embedded
from planner.app.run import ObservedTrace
from planner.app.run_options import RunOptions
from planner.app.run_story import RunStory
from planner.cli import main
from planner.evaluation.trace import read_traces
from planner.planning.expert.expert import Expert
from planner.world.house_checks import load_episode
from planner.world.person import PersonPlacement
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions

ONE = ["desk_tidy_0", "--memory", "full", "--agents", "1"]


def test_a_run_is_reported_and_drawn_as_by_the_demo(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "night_light_0", "--no-images", "-o", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith('task: "Switch off both floor lamps')
    assert lines[1] == "in train_7, by agent_0, agent_1"
    assert lines[2] == "00:00  judge    [....................] 0 of 4 parts of the task hold"
    story = "\n".join(lines)
    for words in (
        r"^00:00  agent_\d  begins  Navigate\[.*\]  to \w+",
        r"^00:00  agent_\d  is moving$",
        r"^\d\d:\d\d  living_room_0: saw headphones_0 on table_0$",
        r"^\d\d:\d\d  agent_0  did     Pick\[headphones_0\]$",
        r"^\d\d:\d\d  judge    \[#{20}\] 4 of 4 parts of the task hold$",
        r"^planner: done after \d+ decisions$",
    ):
        assert re.search(words, story, re.MULTILINE), words
    picture = tmp_path / "run.png"
    assert lines[-1].startswith("verdict: success  percent_complete: 1.00  sim_steps: ")
    assert lines[-1].endswith(f"  picture: {picture}")
    with Image.open(picture) as drawn:
        assert min(drawn.size) > 400


def test_a_story_changes_nothing_and_follows_each_way() -> None:
    episode, house = load_episode("night_light_0")
    person = PersonPlacement(room=house.rooms[0].name)
    episode = episode.model_copy(update={"people": (person,)})
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    agents = backend_agents(episode)
    lines: list[str] = []
    story = RunStory(house, episode, agents, backend, has_pictures=False, say=lines.append)
    trace = ObservedTrace(lambda state, progress: story.on_progress(state.stamp_s, progress))

    def prepared(told: bool) -> object:
        run = prepare_embedded(
            backend,
            house,
            episode,
            Expert,
            RunOptions(
                images=False,
                on_event=story.on_event if told else None,
                trace=trace if told else None,
            ),
        )
        if told:
            story.begin(run)
        return run.run()

    try:
        plain, told = prepared(False), prepared(True)
        ends = {agent: backend.localised_position(agent)[0][:2] for agent in agents}
        stands = backend.world_state().entities["person_0"].pose.position_m[:2]
    finally:
        backend.close()
    assert told == plain
    assert lines
    assert story._walks == {"person_0": [stands]}
    for agent, way in story._paths.items():
        assert math.dist(way[-1], ends[agent]) < 0.2
        # A tenth of a second at a walk, and what a way leaves out: no way leads through walls.
        assert max(map(math.dist, way, way[1:])) < 0.5


@pytest.mark.needs("papers")
@pytest.mark.slow
def test_a_planner_with_a_model_runs_here_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, trace = tmp_path / "base", tmp_path / "run.jsonl"
    words = ["bench", *ONE, "--quiet", "--planner", "heuristic_expert", "--out", str(base)]
    assert main(words) == 0
    write_scripts(base, tmp_path / "scripts")
    model = f"scripted:{tmp_path / 'scripts'}"
    run = ["run", *ONE, "--no-images", "--planner", "partnr_react", "--model", model]
    assert main([*run, "--trace", str(trace), "-o", str(tmp_path)]) == 0
    assert "verdict: success" in capsys.readouterr().out
    (made,) = read_traces(trace)
    assert {line.planner for line in made.decisions} == {"partnr_react"}
    assert all(line.model for line in made.decisions)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--planner", "react"], "`react` needs a language model"),
        (["--planner", "expert", "--model", "m"], "the planner expert uses no model"),
        (["--planner", "heuristic_expert"], "needs full knowledge: --memory full"),
        (["--planner", "react", "--model", "m"], "names no server"),
        (["--memory", "learned", "--no-images"], "needs images"),
        (["--agents", "-1"], "argument --agents: -1 is below 0"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(
    words: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "bedside_0", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line
