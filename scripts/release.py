#!/usr/bin/env python3
"""Checks, builds, tries and tags a release: `.venv/bin/python scripts/release.py`.

1. The files agree about the version, the changelog dates it, everything is committed.
2. The source distribution is made of the commit, and the wheel of that, both in dist/.
3. Each is installed into an environment of its own and carries out an episode there.
4. The commit gets the tag vVERSION, with the changelog's section as its message.

Nothing is pushed or uploaded. With --dry-run only the first step is done, and the others are named.
The status is 1 where something is lacking, which is named by file and reason.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Other files that state the version, and how.
STATED = {
    "CITATION.cff": r"^version: (\S+)$",
    "README.md": r"^!\[Version ([^\]]+)\]",
    "docs/badges/version.svg": r'aria-label="version: ([^"]+)"',
    "msgs/package.xml": r"<version>([^<]+)</version>",
    "package.xml": r"<version>([^<]+)</version>",
}
_SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"
# Works without ROS, without pictures and without the tree.
_TRIAL = """
import sys
from importlib.metadata import version
import planner
assert version("planner") == sys.argv[1], version("planner")
assert planner.__file__.startswith(sys.prefix), planner.__file__
verdict = planner.run("night_light_0").verdict
assert verdict.success, verdict.explanation
"""


def ran(words: Sequence[str | Path], folder: Path, status: int = 0) -> str:
    """What a command prints that knows nothing of a tree and of this environment.

    Raises RuntimeError where it ends with another status, or with a traceback.
    """
    environment = {"PATH": os.defpath, "HOME": os.environ.get("HOME", str(folder))}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env=environment | {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "UV_"))},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != status or "Traceback" in done.stderr:
        raise RuntimeError(f"{words[0]} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def build(tree: Path, folder: Path) -> tuple[Path, Path]:
    """Makes the source distribution of a tree in `folder`, and of that alone the wheel.

    As `python -m build --no-isolation` does. Leaves files in the tree: give it a copy.
    """
    name = ran([sys.executable, "-c", _SDIST, folder], tree).splitlines()[-1]
    wheel = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    ran([sys.executable, "-m", "pip", *wheel, folder / name], folder)
    (built,) = folder.glob(f"{name.removesuffix('.tar.gz')}-*.whl")
    return folder / name, built


def environment(folder: Path, package: Path) -> Path:
    """Makes an environment in `folder` that holds a package and what it needs; its Python."""
    ran([sys.executable, "-m", "venv", "--without-pip", folder], folder.parent)
    python = folder / "bin" / "python"
    # As scripts/setup.sh: by uv, but by pip where its settings name an index or a proxy.
    pip = [sys.executable, "-m", "pip"]
    settings = subprocess.run([*pip, "config", "list"], capture_output=True, text=True, check=True)
    what = ["install", "--quiet", "-c", str(ROOT / "constraints.txt"), str(package)]
    if re.search(r"\.(index-url|no-index|proxy)=", settings.stdout):
        ran([*pip, "--python", python, *what], folder)
    else:
        uv = Path(sys.executable).with_name("uv")
        ran([uv, "pip", *what, "--system-certs", "--python", python], folder)
    return python


def version(root: Path) -> str:
    """The version that pyproject.toml states."""
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])


def section(root: Path, number: str) -> tuple[str, str]:
    """The words behind a version in the changelog's headings, and its section; "" without one."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## {re.escape(number)} \(([^)]*)\)\n(.*?)(?=^## |\Z)"
    found = re.search(heading, text, re.MULTILINE | re.DOTALL)
    return (found[1], found[2].strip()) if found else ("", "")


def lacking(root: Path) -> Iterator[str]:
    """What stands between a checkout and a release, one line each."""
    number = version(root)
    for name, pattern in STATED.items():
        stated = re.findall(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if stated != [number]:
            said = ", ".join(stated) or "no version"
            yield f"{name}: states {said}, pyproject.toml {number}"
    when, text = section(root, number)
    if not text:
        yield f"CHANGELOG.md: has no section '## {number} (DATE)' with text"
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", when):
        yield f"CHANGELOG.md: '## {number} ({when})' has no date such as 2026-01-31"
    if git(root, "status", "--porcelain"):
        yield "checkout: has changes that are not committed"
    if git(root, "tag", "--list", f"v{number}"):
        yield f"tag v{number}: exists; a new release has a new version in pyproject.toml"


def git(root: Path, *words: str) -> str:
    """What git prints in a checkout."""
    return subprocess.run(
        ["git", *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout.strip()


def release(root: Path) -> None:
    """Builds the commit of a checkout, tries both packages, tags it."""
    number = version(root)
    out = root / "dist"
    out.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        packed = subprocess.run(
            ["git", "archive", "HEAD"], cwd=root, check=True, capture_output=True
        ).stdout
        with tarfile.open(fileobj=BytesIO(packed)) as archive:
            archive.extractall(folder / "tree", filter="data")
        for package in build(folder / "tree", folder):
            print(f"release: {package.name} is tried in an environment of its own", flush=True)
            python = environment(folder / f"env-{package.suffix[1:]}", package)
            ran([python, "-c", _TRIAL, number], folder)
            (out / package.name).write_bytes(package.read_bytes())
    # Headings of the changelog are no comments.
    message = f"planner {number}\n\n{section(root, number)[1]}"
    git(root, "tag", "--annotate", "--cleanup=whitespace", "-m", message, f"v{number}")
    print(f"release: packages in {out}, tag v{number}; to publish: git push origin v{number}")


def main(argv: Sequence[str] | None = None, root: Path = ROOT) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dry-run", action="store_true", help="only say what is lacking")
    dry = parser.parse_args(argv).dry_run
    complaints = list(lacking(root))
    for complaint in complaints:
        print(f"release: {complaint}", file=sys.stderr)
    if complaints:
        return 1
    if dry:
        print(f"release: would build, try and tag v{version(root)}")
    else:
        release(root)
    return 0


if __name__ == "__main__":
    sys.exit(main())
