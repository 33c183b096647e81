"""`planner episodes review`: a review in progress, its saved verdicts, and its web page."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from threading import Lock
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from planner.episodes.corrections import correction_path, correction_text, write_correction
from planner.episodes.drawing.picture import draw_episode
from planner.episodes.drawing.shapes import svg_text
from planner.episodes.episode_file import episodes_in, write_text
from planner.world.episode import Episode
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.files import FileModel, read_bytes, read_model, read_text
from planner.world.house_checks import load_episode

# The verdicts of a review, kept in a file, so that a review can be continued.

FILE_NAME = "review.json"
MAX_REASON = 2000


class Mode(StrEnum):
    """What is wrong with a task or with its evaluation (PARTNR-4.7)."""

    HALLUCINATION = "hallucination"
    UNRESOLVABLE_AMBIGUITY = "unresolvable ambiguity"
    CONTRADICTION = "contradiction"
    ALREADY_SATISFIED = "already satisfied"
    TEMPORAL_GROUPING = "incorrect temporal grouping"
    PREDICATE_OTHER = "incorrect predicate (other)"
    PREDICATE_ROOM = "incorrect predicate (room vs furniture)"
    ENTITY = "incorrect object, furniture or room"
    AMBIGUITY = "incorrect ambiguity"


class Verdict(FileModel):
    """A person's verdict on one episode.

    Attributes:
        modes, reason: only of a wrong one.
        digest: of the episode's file, which a later change makes another.
    """

    right: bool
    modes: tuple[Mode, ...] = ()
    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""
    digest: str = ""

    @property
    def remark(self) -> str:
        """The modes and the reason as one text."""
        return ": ".join(filter(None, (", ".join(self.modes), self.reason)))


class ReviewFile(FileModel):
    """The content of review.json, verdicts by episode."""

    version: Literal[1]
    verdicts: dict[str, Verdict] = Field(default_factory=dict)


def read_verdicts(folder: Path) -> dict[str, Verdict]:
    """The verdicts of an earlier review; none if there was none.

    Raises:
        FileError: if the file is broken.
    """
    path = folder / FILE_NAME
    return dict(read_model(path, ReviewFile).verdicts) if path.exists() else {}


def write_verdicts(folder: Path, verdicts: dict[str, Verdict]) -> None:
    """Replaces the file, atomically.

    Raises:
        FileError: if it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(folder, "", f"cannot be made: {error.strerror}") from None
    document = ReviewFile(version=1, verdicts=verdicts).model_dump(mode="json")
    write_text(folder / FILE_NAME, json.dumps(document, indent=1, sort_keys=True) + "\n")


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


# The review's web page, on this machine only.

ADDRESS = "127.0.0.1"
_MAX_BODY = 64 * 1024
_ASSETS = {
    "/": ("review.html", "text/html"),
    "/review.css": ("review.css", "text/css"),
    "/review.js": ("review.js", "text/javascript"),
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class Posted(FileModel):
    """A verdict as the page sends it; `verdict` None takes one back."""

    index: int
    verdict: Verdict | None


class ReviewServer(ThreadingHTTPServer):
    """Serves one review on a port of the loopback."""

    daemon_threads = True

    def __init__(self, review: Review, port: int) -> None:
        """`port`: 0 for any free one.

        Raises:
            PlannerError: if the port cannot be used.
        """
        self.review = review
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            reason = f"port {port} of {ADDRESS} cannot be used: {error.strerror}"
            raise PlannerError(f"{reason}; --port gives another") from None

    @property
    def url(self) -> str:
        """The page's address."""
        return f"http://{ADDRESS}:{self.server_port}/"


class _Handler(BaseHTTPRequestHandler):
    server: ReviewServer
    server_version = "planner"
    sys_version = ""

    def do_GET(self) -> None:
        """The page, the list of episodes, or a drawing."""
        if not self._is_for_us():
            return
        if self.path in _ASSETS:
            name, kind = _ASSETS[self.path]
            text = resources.files(f"{__package__}.assets").joinpath(name).read_text("utf-8")
            self._answer(HTTPStatus.OK, kind, text)
        elif self.path == "/episodes":
            self._answer_json(HTTPStatus.OK, self._episodes())
        elif self.path.startswith("/drawing/"):
            self._drawing(self.path.removeprefix("/drawing/").partition("?")[0])
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such page")

    def do_POST(self) -> None:
        """A verdict."""
        if not self._is_for_us():
            return
        # A page of another site cannot send this type without being asked first.
        if self.path != "/verdict" or self.headers.get_content_type() != "application/json":
            self._refuse(HTTPStatus.NOT_FOUND, "expected JSON at /verdict")
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_BODY:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {_MAX_BODY} bytes")
            return
        try:
            posted = Posted.model_validate_json(self.rfile.read(int(length)))
        except ValidationError as error:
            self._refuse(HTTPStatus.BAD_REQUEST, str(from_validation("verdict", error)))
            return
        if not 0 <= posted.index < len(self.server.review.episodes):
            self._refuse(HTTPStatus.BAD_REQUEST, f"there is no episode {posted.index}")
            return
        try:
            note = self.server.review.judge(posted.index, posted.verdict)
        except FileError as error:
            self._refuse(HTTPStatus.INTERNAL_SERVER_ERROR, str(error))
            return
        self._answer_json(HTTPStatus.OK, {"note": note})

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Requests are not logged."""

    def _is_for_us(self) -> bool:
        """Refuses requests under another name, which a page of another site could make."""
        port = self.server.server_port
        if self.headers.get("Host") in (f"{ADDRESS}:{port}", f"localhost:{port}"):
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "this page is for this machine only")
        return False

    def _episodes(self) -> object:
        review = self.server.review
        entries = []
        for index, item in enumerate(review.episodes):
            verdict = review.verdict(index)
            entries.append(
                {
                    "name": item.episode.episode_id,
                    "verdict": None if verdict is None else verdict.model_dump(mode="json"),
                    "changed": review.has_changed(index),
                }
            )
        return {
            "episodes": entries,
            "modes": list(Mode),
            "folder": str(review.folder),
            "max_reason": MAX_REASON,
        }

    def _drawing(self, number: str) -> None:
        if not number.isdecimal() or int(number) >= len(self.server.review.episodes):
            self._refuse(HTTPStatus.NOT_FOUND, "there is no such episode")
            return
        try:
            self._answer(HTTPStatus.OK, "image/svg+xml", self.server.review.drawing(int(number)))
        except PlannerError as error:
            self._refuse(HTTPStatus.UNPROCESSABLE_ENTITY, str(error))

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self.close_connection = True
        self._answer(status, "text/plain", reason)

    def _answer_json(self, status: HTTPStatus, document: object) -> None:
        self._answer(status, "application/json", json.dumps(document))

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        body = text.encode("utf-8", "replace")
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)


# `planner episodes review`: a web page to verify episodes on.


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
