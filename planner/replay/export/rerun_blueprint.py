"""What Rerun's viewer shows of an exported bag: the blueprint that is part of every `.rrd`.

`python -m planner.replay.export.rerun_blueprint FOLDER` writes `planner.rbl`, the file for two
agents that is shipped in `config/viewers/`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from shapely import union_all

from planner.replay.export import rerun_stream
from planner.replay.export.rerun_stream import APPLICATION, WORLD_TIME
from planner.world.house import House

if TYPE_CHECKING:
    import rerun.blueprint as rrb

FILE_NAME = "planner.rbl"
SHIPPED_CAMERAS = (("agent_0", "hand"), ("agent_1", "hand"))


def blueprint(cameras: Sequence[tuple[str, str]], house: House | None = None) -> rrb.Blueprint:
    """The views of a recording: world, cameras and texts above; calls, numbers and logs below.

    Args:
        cameras: agent and name of each camera that is shown.
        house: the view looks down on it; None = the viewer's default.
    """
    import rerun.blueprint as rrb

    paths = rerun_stream
    eye = None if house is None else _top_view(house)
    world = rrb.Spatial3DView(origin=paths.WORLD, name="World", eye_controls=eye)
    seen = [
        rrb.Spatial2DView(origin=paths.camera(agent, name), name=f"{agent} {name}")
        for agent, name in cameras
    ]
    texts = rrb.Tabs(
        rrb.TextDocumentView(origin=paths.INSTRUCTION, name="Instruction"),
        rrb.TextDocumentView(origin=paths.PLAN, name="Plan"),
        rrb.TextDocumentView(origin=paths.BELIEF_TEXT, name="World graph"),
        rrb.TextDocumentView(origin=paths.JUDGE_TEXT, name="Judge"),
        rrb.TextDocumentView(origin=paths.PROMPT, name="Prompt"),
        rrb.TextDocumentView(origin=paths.REPLY, name="Reply"),
        rrb.GraphView(origin=paths.GRAPH, name="Graph"),
        active_tab="Instruction",
        name="Texts",
    )
    lanes = rrb.StateTimelineView(origin=paths.CALLS, name="Calls")
    numbers = rrb.Tabs(
        rrb.TimeSeriesView(
            origin=paths.PROGRESS, name="Percent complete", axis_y=rrb.ScalarAxis(range=(0.0, 1.0))
        ),
        rrb.TimeSeriesView(origin=paths.TOKENS, name="Tokens"),
        rrb.TimeSeriesView(origin=paths.SECONDS, name="Latency"),
        name="Numbers",
    )
    logs = rrb.TextLogView(origin=paths.LOGS, name="Logs")
    right = [rrb.Vertical(*seen, name="Cameras"), texts] if seen else [texts]
    return rrb.Blueprint(
        rrb.Vertical(
            rrb.Horizontal(world, *right, column_shares=[5, 2, 3] if seen else [7, 3]),
            rrb.Horizontal(lanes, numbers, logs),
            row_shares=[3, 1],
        ),
        rrb.TimePanel(timeline=WORLD_TIME, state="collapsed"),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_views=False,
    )


def _top_view(house: House) -> rrb.EyeControls3D:
    import rerun.blueprint as rrb

    left, near, right, far = union_all([room.shape for room in house.rooms]).bounds
    middle = ((left + right) / 2, (near + far) / 2, 0.0)
    away_m = max(right - left, far - near)
    position = (middle[0], middle[1] - 0.6 * away_m, 1.1 * away_m)
    return rrb.EyeControls3D(position=position, look_target=middle, eye_up=(0.0, 0.0, 1.0))


def write_shipped(folder: Path) -> None:
    """Writes the shipped file."""
    blueprint(SHIPPED_CAMERAS).save(APPLICATION, folder / FILE_NAME)


if __name__ == "__main__":
    write_shipped(Path(sys.argv[1]))
