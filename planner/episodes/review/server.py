"""The review's web page, on this machine only."""

from __future__ import annotations

import json
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources

from pydantic import ValidationError

from planner.episodes.review.review import Review
from planner.episodes.review.verdicts import MAX_REASON, Mode, Verdict
from planner.world.errors import FileError, PlannerError, from_validation
from planner.world.files import FileModel

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
