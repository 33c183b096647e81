"""Loads a data set with LeRobot's own class and prints what came of it, as JSON.

Run by test_lerobot_loaders.py with the Python of another environment: needs nothing of ours.
"""

from __future__ import annotations

import json
import sys

import lerobot
from lerobot.datasets import LeRobotDataset
from lerobot.datasets.language_render import active_at


def main(folder: str) -> None:
    dataset = LeRobotDataset("planner/export", root=folder, video_backend="pyav")
    frames = [dataset[number] for number in range(len(dataset))]
    told = {
        "version": lerobot.__version__,
        "episodes": dataset.num_episodes,
        "frames": len(frames),
        "fps": dataset.fps,
        "tasks": [frame["task"] for frame in frames],
        "calls": [frame["skill_call"] for frame in frames],
        "states": [frame["observation.state"].tolist() for frame in frames],
        "actions": [frame["action"].tolist() for frame in frames],
        "shades": [255 * float(frame["observation.images.hand"].mean()) for frame in frames],
        "shape": list(frames[0]["observation.images.hand"].shape),
        "done": [bool(frame["next.done"]) for frame in frames],
        "subtasks": [
            (
                active_at(
                    frame["timestamp"].item(),
                    persistent=frame["language_persistent"],
                    style="subtask",
                )
                or {}
            ).get("content")
            for frame in frames
        ],
        "tool_calls": [row["tool_calls"] for frame in frames for row in frame["language_events"]],
        "stats": sorted(dataset.meta.stats),
        "tools": [tool["function"]["name"] for tool in dataset.meta.tools],
    }
    two = {"action": [0.0, 0.1], "observation.images.hand": [-0.1, 0.0]}
    windows = LeRobotDataset(
        "planner/export", root=folder, video_backend="pyav", delta_timestamps=two, episodes=[1]
    )
    told["windows"] = {name: list(windows[5][name].shape) for name in two}
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
