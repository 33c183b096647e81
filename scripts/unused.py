"""Code that nothing uses: prints each function, class and method, and exits 1 if there is one.

Tests do not count as use, apart from the names below. Names alone are compared, so that a method
counts as used where any object is asked for one of that name.
"""

from __future__ import annotations

import sys
from fnmatch import fnmatchcase
from pathlib import Path

from core_copy import APART
from vulture import Vulture

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = (
    "papers",
    "planner",
    "sim_bridge",
    "nodes",
    "launch",
    "scripts",
    "examples",
    "benchmarks",
)
KINDS = {"function", "class", "method", "property", "unreachable_code"}
# Called by a library or by name.
CALLED = (
    "__getattr__", "generate_launch_description", "draw_once", "beginning_execution", "on_*",
    "do_GET", "do_POST", "log_message", "log_request", "navigable", "open_house",
    "reachable_sockets",
    # A node's process names it.
    "main_of_mouth",
    # Of subcommands, whose records name them.
    "add_examples", "run_examples", "add_samples", "run_samples",
    "add_failures", "run_failures", "add_answer_arguments", "run_answer", "add_attend_arguments",
    "run_attend", "add_approve_arguments", "run_approve_command", "add_look_arguments", "run_look",
    # TEACh's definitions of tasks.
    "water_plant", "make_coffee", "clean_all", "put_all_on", "put_all_in_one", "boil_potato",
    "n_slices", "n_cooked_slices", "plate_of_toast", "sandwich", "salad", "breakfast",
)  # fmt: skip
# Checks of the papers and parts for programs of one's own, which documentation or decisions name.
PUBLISHED = (
    "Commander", "MatchedAttributes", "ObjectMap", "all_sequences", "detect", "diagnosis_scores",
    "f1", "match_names", "points_in_reference", "read_states", "states_after", "ways_of",
)  # fmt: skip
# What a test has to ask of the product.
ASKED_BY_TESTS = (
    "has_icon", "hidden_from", "is_clustered", "is_noun", "overlaps", "read_block", "spoken_name",
    "work_text",
)  # fmt: skip
DECORATORS = ("@field_validator", "@model_validator")


def main() -> int:
    """Prints one line for each; 1 if there are any."""
    if lacking := [folder for folder in APART if not (ROOT / folder).is_dir()]:
        print(f"without {', '.join(lacking)} it is not known what is used")
        return 0
    # Its own list of names to ignore is looked through for each name of the code.
    search = Vulture(ignore_decorators=list(DECORATORS))
    files = [path for top in PRODUCT for path in (ROOT / top).rglob("*") if _is_source(path)]
    search.scavenge([ROOT / "setup.py", *files])
    found = [
        item for item in search.get_unused_code() if item.typ in KINDS and not _is_named(item.name)
    ]
    for item in found:
        where = item.filename.relative_to(ROOT)
        print(f"{where}:{item.first_lineno}: nothing uses the {item.typ} {item.name}")
    return 1 if found else 0


def _is_named(name: str) -> bool:
    return any(fnmatchcase(name, used) for used in (*CALLED, *PUBLISHED, *ASKED_BY_TESTS))


def _is_source(path: Path) -> bool:
    return path.suffix == ".py" or path.parent.name == "nodes"


if __name__ == "__main__":
    sys.exit(main())
