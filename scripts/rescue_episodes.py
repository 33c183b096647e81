"""Writes the houses and episodes of the rescue scenes to config/rescue/episodes/.

Repeat with: python scripts/rescue_episodes.py
"""

from __future__ import annotations

import json
from pathlib import Path

from papers.llamar.rescue.scenes import load_scene, scene_names
from papers.llamar.rescue.snapshot import TEAMS, episode_of, house_document
from planner.world.share import config_dir


def files() -> dict[Path, str]:
    """The text of each file by its path under config/rescue/episodes/."""
    found: dict[Path, str] = {}
    for name in scene_names():
        scene = load_scene(name)
        found[Path("houses") / f"{name}.json"] = _text(house_document(scene))
        for agents in TEAMS:
            episode = episode_of(scene, agents)
            document = episode.model_dump(mode="json", exclude_defaults=True)
            found[Path(f"{episode.episode_id}.json")] = _text({"version": 1, **document})
    return found


def _text(document: object) -> str:
    return json.dumps(document, indent=1) + "\n"


def main() -> None:
    """Writes all files."""
    folder = config_dir() / "rescue" / "episodes"
    for path, text in files().items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
        print(folder / path)


if __name__ == "__main__":
    main()
