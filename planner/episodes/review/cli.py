"""`planner episodes review`: a web page to verify episodes on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from planner.episodes.review.review import Review, episodes_to_review
from planner.episodes.review.server import ReviewServer


def review(places: Sequence[Path], folder: Path, port: int) -> int:
    """Serves the page until Ctrl-C, then prints the counts.

    Args:
        places: files and folders of episodes.
        folder: of verdicts and correction files.
        port: on the loopback; 0 for any free one.

    Raises:
        PlannerError: if an episode cannot be read, the folder not written or the port not used.
    """
    session = Review(episodes_to_review(places), folder)
    with ReviewServer(session, port) as server:
        print(f"{_counts(session)}; review them at {server.url} (Ctrl-C ends)", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print(f"\n{_counts(session)}; verdicts and correction files: {folder}")
    return 0


def _counts(session: Review) -> str:
    right, wrong, left = session.counts()
    return f"{len(session.episodes)} episodes: {right} right, {wrong} wrong, {left} not judged"
