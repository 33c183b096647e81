"""`--to video`: an MP4 of the agents' views, with instruction, calls and progress as captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from planner.replay.export.captions import Captions, Panel
from planner.replay.export.frames import frames, instants, spans
from planner.replay.export.source import Source
from planner.replay.export.timeline import read_story
from planner.replay.export.video_file import H264, VideoFile
from planner.world.errors import FileError

FPS, SPEED, CAMERA = 10, 1.0, "hand"
# An hour at 30 frames per second has 108,000: a stamp far off would otherwise yield endless ones.
MAX_FRAMES = 1_000_000


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """What is shown and how fast.

    Attributes:
        agents: whose pictures, from left to right; empty = all that have some.
        camera: name of their camera.
        fps: frames per second of the video.
        speed: seconds of the world per second of the video.
    """

    agents: Sequence[str] = ()
    camera: str = CAMERA
    fps: int = FPS
    speed: float = SPEED


def write_video(source: Source, path: Path, options: VideoOptions) -> int:
    """Writes the video; returns the number of frames.

    Raises:
        FileError: if the bag lacks the pictures or cannot be read.
        PlannerError: if FFmpeg lacks the encoder.
        OSError: if the file system refuses.
    """
    seen = [c.agent for c in source.cameras if c.rgb and c.name == options.camera]
    agents = list(dict.fromkeys(options.agents)) or seen or list(source.agents) or ["agent_0"]
    cameras = [source.camera(agent, options.camera) for agent in agents]
    found = spans(source, cameras)
    missing = [camera for camera in cameras if camera not in found]
    if missing:
        raise FileError(source.folder, missing[0].rgb, "has no picture")
    first_s = min(span.first_s for span in found.values())
    last_s = max(span.last_s for span in found.values())
    step_s = options.speed / options.fps
    if (last_s - first_s) / step_s > MAX_FRAMES:
        reason = f"pictures span {last_s - first_s:.0f} s: more than {MAX_FRAMES} frames"
        raise FileError(source.folder, cameras[0].rgb, reason)
    panels = [Panel(camera.agent, found[camera].size_px) for camera in cameras]
    # A robot's clock counts from 1970.
    captions = Captions(read_story(source), panels, 0.0 if source.simulated else first_s)
    with VideoFile(path, captions.size_px, options.fps, H264) as video:
        for frame in frames(source, cameras, instants(first_s, last_s, step_s)):
            pictures = {camera.agent: rgb for camera, rgb in frame.pictures.items()}
            video.add(captions.draw(frame.time_s, pictures))
    return video.frames
