"""A real browser without a window, driven over its debugging pipe: no port, no network."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
_TIMEOUT_S = 60.0
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


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
        complaints: what the page wrote to its console as a warning or an error, and exceptions.
        requests: addresses that the page asked for, its own and what stands in it left out.
    """

    def __init__(self, path: str) -> None:
        self._folder = tempfile.mkdtemp(prefix="planner-browser-")
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()
        self._process = subprocess.Popen(
            [path, *_FLAGS, f"--user-data-dir={self._folder}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            # The browser reads its orders from 3 and answers on 4.
            preexec_fn=lambda: (
                os.dup2(to_read, 13),
                os.dup2(to_write, 14),
                os.dup2(13, 3),
                os.dup2(14, 4),
            ),
            pass_fds=(3, 4),
        )
        os.close(to_read)
        os.close(to_write)
        self._rest = b""
        self._number = 0
        self._session = ""
        self._page = ""
        self.complaints: list[str] = []
        self.requests: list[str] = []
        targets = self._call("Target.getTargets")["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self._call("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self._call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._read)
        os.close(self._write)
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(
        self, page: Path, *, width: int = 1280, height: int = 1000, dark: bool = False
    ) -> None:
        """Shows a file of this machine, and waits until it is drawn."""
        self.visit(page.resolve().as_uri(), width=width, height=height, dark=dark)

    def visit(
        self, address: str, *, width: int = 1280, height: int = 1000, dark: bool = False
    ) -> None:
        """As `open`, for a page of a server."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._call("Emulation.setEmulatedMedia", features=scheme)
        self.resize(width, height)
        self._page = address
        self.complaints, self.requests = [], []
        self._call("Page.navigate", url=self._page)
        self.wait("document.readyState === 'complete'")
        self.wait(
            "new Promise(done => requestAnimationFrame(() => setTimeout(() => done(true), 150)))"
        )

    def resize(self, width: int, height: int) -> None:
        """Makes the window another size."""
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def picture(self, file: Path, *, whole: bool = False) -> None:
        """Writes what the window shows, or the whole page, as PNG."""
        shot = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        file.write_bytes(base64.b64decode(shot["data"]))

    def press(self, key: str) -> None:
        """Presses and releases a key, by its name in the browser."""
        text = {"text": key} if len(key) == 1 else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript, awaited where it is a promise."""
        found = self._call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in found:
            raise AssertionError(str(found["exceptionDetails"]))
        return found["result"].get("value")

    def wait(self, script: str) -> None:
        """Waits until an expression is true."""
        until_s = time.monotonic() + _TIMEOUT_S
        while not self.run(script):
            if time.monotonic() > until_s:
                raise TimeoutError(script)
            time.sleep(0.02)

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            order["sessionId"] = self._session
        os.write(self._write, json.dumps(order).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                answer: dict[str, Any] = message["result"]
                return answer
            self._note(message)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._read], [], [], _TIMEOUT_S)[0]:
                raise TimeoutError("the browser says nothing")
            got = os.read(self._read, 1 << 20)
            if not got:
                raise AssertionError("the browser has gone")
            self._rest += got
        text, _, self._rest = self._rest.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def _note(self, message: dict[str, Any]) -> None:
        told = message.get("params", {})
        match message.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(str(told["exceptionDetails"])[:400])
            case "Runtime.consoleAPICalled":
                self.complaints.append(str(told["args"])[:400])
            case "Log.entryAdded":
                self.complaints.append(str(told["entry"])[:400])
            case "Network.requestWillBeSent":
                url = told["request"]["url"]
                if not url.startswith("data:") and url != self._page:
                    self.requests.append(url[:100])
