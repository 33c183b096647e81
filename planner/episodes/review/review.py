"""A review in progress: episodes, their drawings, and verdicts, each of which is saved at once."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from planner.episodes.corrections import correction_path, correction_text, write_correction
from planner.episodes.drawing.picture import draw_episode
from planner.episodes.drawing.svg import svg_text
from planner.episodes.episode_file import episodes_in
from planner.episodes.review.verdicts import Verdict, read_verdicts, write_verdicts
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError
from planner.world.files import read_bytes, read_text
from planner.world.house_checks import load_episode


@dataclass(frozen=True, slots=True)
class Reviewed:
    """An episode to be reviewed, and a short hash of its file."""

    path: Path
    episode: Episode
    digest: str


def episodes_to_review(places: Sequence[Path]) -> list[Reviewed]:
    """The episodes of files and folders.

    Raises:
        FileError: for one that cannot be read.
        PlannerError: if there are none, or two of one name.
    """
    found = []
    for path, episode in episodes_in(places):
        if not isinstance(episode, Episode):
            raise episode
        digest = hashlib.sha256(read_bytes(path)).hexdigest()[:16]
        found.append(Reviewed(path, episode, digest))
    counts = Counter(item.episode.episode_id for item in found)
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise PlannerError(f"there are two episodes {twice}")
    if not found:
        raise PlannerError(f"{places[0]}: there are no episodes to review")
    return found


class Review:
    """Episodes and what was said about them.

    Attributes:
        episodes: in the order in which they are shown.
        folder: of the verdicts and the correction files.
    """

    def __init__(self, episodes: Sequence[Reviewed], folder: Path) -> None:
        """Continues an earlier review of the folder.

        Raises:
            FileError: if its verdicts cannot be read, or nothing can be written there.
        """
        self.episodes = tuple(episodes)
        self.folder = folder
        self._verdicts = read_verdicts(folder)
        self._lock = Lock()
        write_verdicts(folder, self._verdicts)

    def verdict(self, index: int) -> Verdict | None:
        """The verdict on an episode as it is now."""
        item = self.episodes[index]
        found = self._verdicts.get(item.episode.episode_id)
        return found if found is not None and found.digest == item.digest else None

    def has_changed(self, index: int) -> bool:
        """Whether the episode was judged, but was another one then."""
        return self.verdict(index) is None and (
            self.episodes[index].episode.episode_id in self._verdicts
        )

    def counts(self) -> tuple[int, int, int]:
        """How many episodes are right, wrong and not judged."""
        verdicts = [self.verdict(index) for index in range(len(self.episodes))]
        right = sum(v is not None and v.right for v in verdicts)
        return right, sum(v is not None and not v.right for v in verdicts), verdicts.count(None)

    def drawing(self, index: int) -> str:
        """An episode's drawing as SVG.

        Raises:
            PlannerError: if it cannot be drawn.
        """
        with self._lock:  # Loaded houses are shared.
            return svg_text(draw_episode(*load_episode(self.episodes[index].path)))

    def judge(self, index: int, verdict: Verdict | None) -> str:
        """Saves a verdict, with a correction file for a wrong episode; None takes one back.

        Returns:
            What the reviewer should know about the correction file; "" if nothing.

        Raises:
            FileError: if it cannot be saved.
        """
        item = self.episodes[index]
        with self._lock:
            before = self._verdicts.get(item.episode.episode_id)
            after = dict(self._verdicts)
            if verdict is None:
                after.pop(item.episode.episode_id, None)
            else:
                kept = verdict.model_copy(update={"digest": item.digest})
                after[item.episode.episode_id] = kept
            write_verdicts(self.folder, after)
            self._verdicts = after
            return self._correct(item.episode, before, verdict)

    def _correct(self, episode: Episode, before: Verdict | None, verdict: Verdict | None) -> str:
        """Writes or removes the correction file, unless somebody has edited it."""
        path = correction_path(self.folder, episode.episode_id)
        try:
            if path.exists() and not _is_ours(path, episode, before):
                return f"{path.name} was edited and is left as it is"
            if verdict is not None and not verdict.right:
                write_correction(self.folder, episode, skip=True, reason=verdict.remark)
            else:
                path.unlink(missing_ok=True)
        except FileError:
            raise
        except PlannerError as error:
            return f"no correction file: {error}"
        except OSError as error:
            raise FileError(path, "", f"cannot be removed: {error.strerror}") from None
        return ""


def _is_ours(path: Path, episode: Episode, verdict: Verdict | None) -> bool:
    """Whether a correction file is as the last verdict made it."""
    if verdict is None:
        return False
    try:
        return read_text(path) == correction_text(episode, skip=True, reason=verdict.remark)
    except PlannerError:
        return False
