"""The console's page over a recording, as a picture that moves: what the README shows.

Repeat with: python scripts/console_movie.py BAG -o docs/console.webp [--frames 40] [--width 960]

Needs Chromium. The page is served by `planner console BAG`, and asked for one moment after the
other.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
from headless_browser import Browser, find_browser

PAGE = (1280, 800)
FRAME_MS, LAST_MS = 250, 2500
ADDRESS = re.compile(r"http://\S+")
# The page has asked for its cameras' pictures by then.
SETTLE_S = 0.4


def moments(browser: Browser, folder: Path, count: int) -> list[Path]:
    """Pictures of the page at equal steps over the recording."""
    browser.wait("Number(document.querySelector('#time').max) > 0")
    duration_s = float(browser.run("Number(document.querySelector('#time').max)"))
    found = []
    for number in range(count):
        # Not the very end, where every agent has nothing to do.
        at_s = duration_s * number / count
        browser.run(f"location.hash = new URLSearchParams({{t: '{at_s:.1f}'}}).toString(); 1")
        browser.wait(f"Math.abs(document.querySelector('#time').value - {at_s}) < 0.5")
        time.sleep(SETTLE_S)
        found.append(folder / f"{number:03d}.png")
        browser.picture(found[-1])
    return found


def main() -> int:
    """Writes the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bag", type=Path, help="a recording")
    parser.add_argument("-o", "--output", type=Path, required=True, help="a .webp file")
    parser.add_argument("--frames", type=int, default=40, help="pictures of the page")
    parser.add_argument("--width", type=int, default=960, help="pixels")
    args = parser.parse_args()
    path = find_browser()
    if path is None:
        parser.error("needs Chromium: apt install chromium")
    command = [sys.executable, "-m", "planner.cli", "console", str(args.bag), "--port", "0"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
    ):
        try:
            lines = server.stdout or ()
            address = next(filter(None, (ADDRESS.search(line) for line in lines)), None)
            if address is None:
                parser.error(f"{args.bag} cannot be shown; see above")
            with Browser(path) as browser:
                browser.visit(address[0], width=PAGE[0], height=PAGE[1])
                shots = moments(browser, Path(folder), args.frames)
        finally:
            server.terminate()
        size = (args.width, args.width * PAGE[1] // PAGE[0])
        frames = [
            Image.open(shot).convert("RGB").resize(size, Image.Resampling.LANCZOS) for shot in shots
        ]
        frames[0].save(
            args.output,
            save_all=True,
            append_images=frames[1:],
            duration=[FRAME_MS] * (len(frames) - 1) + [LAST_MS],
            loop=0,
            quality=60,
            method=6,
        )
    print(f"{args.output}: {len(frames)} frames, {args.output.stat().st_size / 1e6:.1f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
