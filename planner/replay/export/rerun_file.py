"""`--to rerun`: a recording for Rerun's viewer, with the blueprint that shows it."""

from __future__ import annotations

from pathlib import Path

from planner.replay.export.rerun_blueprint import blueprint
from planner.replay.export.rerun_cameras import Cameras
from planner.replay.export.rerun_house import draw_house
from planner.replay.export.rerun_paths import APPLICATION
from planner.replay.export.rerun_story import StoryLogger, log_calls
from planner.replay.export.rerun_stream import Recording
from planner.replay.export.rerun_world import BelievedWorld, Frames, Truth, log_root
from planner.replay.export.source import Source
from planner.replay.export.timeline import read_story


def write_rrd(source: Source, path: Path) -> None:
    """Writes the recording.

    Raises:
        FileError: if the bag cannot be read.
        OSError: if the file system refuses.
    """
    import rerun as rr

    name = source.folder.resolve().name
    cameras = [(camera.agent, camera.name) for camera in source.cameras]
    # The viewer merges recordings with the same id: keep bags with the same name apart.
    identity = f"{name}-{source.bag.start_ns}"
    was_strict = rr.strict_mode()
    # Make errors of Rerun exceptions, instead of lines in the log.
    rr.set_strict_mode(True)
    try:
        with rr.RecordingStream(APPLICATION, recording_id=identity) as stream:
            stream.save(path, default_blueprint=blueprint(cameras, source.house))
            stream.send_recording_name(name)
            _log_all(source, Recording(stream, simulated=source.simulated))
            stream.flush()
            stream.disconnect()
    finally:
        rr.set_strict_mode(was_strict)


def _log_all(source: Source, recording: Recording) -> None:
    log_root(recording)
    if source.house is not None:
        draw_house(recording, source.house)
    truth = Truth(recording, source)
    truth.add_all()
    story = read_story(source)
    log_calls(recording, source, story.calls)
    teller, frames = StoryLogger(recording), Frames(recording)
    teller.begin(story)
    eyes = Cameras(recording, source)
    parts = (teller, frames, BelievedWorld(recording))
    by_topic = {topic: part.add for part in parts for topic in part.TOPICS}
    by_topic.update(dict.fromkeys(eyes.topics, eyes.add))
    for message in source.messages(list(by_topic)):
        recording.at(message)
        source.dispatch(message, by_topic[message.topic])
    frames.finish()
