"""A real browser without a window, through Playwright; Chromium itself is the system's."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Error, Request

NAMES = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT_S = 60.0
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)
_Result = TypeVar("_Result")


def find_browser() -> str | None:
    """The browser's path; None where none is installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def button(words: str, within: str = "body") -> str:
    """An expression for the enabled button whose text begins so; undefined where there is none."""
    buttons = f"[...document.querySelectorAll('{within} button')]"
    return f"{buttons}.find(b => !b.disabled && b.textContent.startsWith({json.dumps(words)}))"


class Browser:
    """One page of one browser.

    Attributes:
        complaints: what the page wrote to its console, what it could not load, and exceptions.
        requests: addresses that the page asked for, its own and what stands in it left out.
    """

    def __init__(self, path: str) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._address = ""
        # Playwright leaves an event loop running in its thread, where no other could be.
        self._thread = ThreadPoolExecutor(1, "browser")
        self._do(lambda: self._begin(path))

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._do(self._end)
        self._thread.shutdown()

    def open(
        self, page: Path, *, width: int = 1280, height: int = 1000, dark: bool = False
    ) -> None:
        """Shows a file of this machine, and waits until it is drawn."""
        self.visit(page.resolve().as_uri(), width=width, height=height, dark=dark)

    def visit(
        self, address: str, *, width: int = 1280, height: int = 1000, dark: bool = False
    ) -> None:
        """As `open`, for a page of a server."""
        self._do(lambda: self._page.emulate_media(color_scheme="dark" if dark else "light"))
        self.resize(width, height)
        self._address = address
        self.complaints, self.requests = [], []
        self._do(lambda: self._page.goto(address))
        self.wait(
            "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true), 150)))"
        )

    def resize(self, width: int, height: int) -> None:
        """Makes the window another size."""
        self._do(lambda: self._page.set_viewport_size({"width": width, "height": height}))

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Writes what the window shows, or the whole page, as PNG."""
        self._do(lambda: self._page.screenshot(path=file, full_page=whole))

    def press(self, key: str) -> None:
        """Presses and releases a key, by its name in the browser."""
        self._do(lambda: self._page.keyboard.press(key))

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, awaited where it is a promise."""
        return self._do(lambda: self._page.evaluate(script))

    def wait(self, script: str) -> None:
        """Waits until an expression is true."""
        until_s = time.monotonic() + _TIMEOUT_S
        while not self.run(script):
            if time.monotonic() > until_s:
                raise TimeoutError(script)
            time.sleep(0.02)

    def devtools(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Asks the browser for what Playwright has no function for, by Chrome's protocol."""
        found: dict[str, Any] = self._do(lambda: self._session.send(method, parameters))
        return found

    def _do(self, what: Callable[[], _Result]) -> _Result:
        return self._thread.submit(what).result()

    def _begin(self, path: str) -> None:
        # Not above: every test process imports this file.
        from playwright.sync_api import sync_playwright

        self._playwright = sync_playwright().start()
        self._chromium = self._playwright.chromium.launch(
            executable_path=path, args=_FLAGS, chromium_sandbox=False
        )
        self._page = self._chromium.new_page()
        self._page.set_default_timeout(_TIMEOUT_S * 1000)
        self._session = self._page.context.new_cdp_session(self._page)
        self._page.on("console", self._on_console)
        self._page.on("pageerror", self._on_error)
        self._page.on("request", self._on_request)

    def _end(self) -> None:
        self._chromium.close()
        self._playwright.stop()

    def _on_console(self, message: ConsoleMessage) -> None:
        self.complaints.append(f"{message.type}: {message.text}"[:400])

    def _on_error(self, error: Error) -> None:
        self.complaints.append(str(error)[:400])

    def _on_request(self, request: Request) -> None:
        if not request.url.startswith("data:") and request.url != self._address:
            self.requests.append(request.url[:100])
