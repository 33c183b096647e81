"""The options of LLaMAR and its baselines, which their records declare."""

from __future__ import annotations

from collections.abc import Mapping

from planner.parts.option import Option, OptionValue
from planner.planning.llamar.actions import Repertoire
from planner.planning.llamar.state import Correction, VerifiedBy

TEAM, ROBOT = "team", "robot"
CAMERA_PICTURES = "camera_pictures"
VERIFIER = "verifier"

TEAM_OPTIONS = (
    Option(
        "horizon",
        0,
        "joint steps of a task, at most; 0 = by the actions that the task allows, else 30",
        min_value=0,
        max_value=1000,
    ),
    Option("exploration", True, "whether agents are offered the paper's exploration"),
    Option(
        "actions",
        Repertoire.HOUSEHOLD.value,
        "what the agents can do: the paper's actions, or those of search and rescue",
        choices=tuple(each.value for each in Repertoire),
    ),
    Option("small_steps", True, "whether agents also move, turn and look step by step"),
    Option("known_by", TEAM, "who must have seen what an agent names", choices=(TEAM, ROBOT)),
    Option(
        "translator",
        "",
        "folder of a sentence encoder that reads free text as actions; empty = words are compared",
        is_path=True,
    ),
    Option(
        "understood_from",
        0.0,
        "similarity from which a text is understood; 0 = the translator's own",
        min_value=0.0,
        max_value=1.0,
    ),
    Option("listed_actions", False, "whether the grammar lists the actions of the moment"),
    Option(CAMERA_PICTURES, False, "whether the model gets a picture of each agent's camera"),
)
_OF_FREE_TEXT = ("translator", "understood_from", "listed_actions")
# For baselines whose models write actions in the paper's spelling, or a number.
EXACT_OPTIONS = tuple(option for option in TEAM_OPTIONS if option.name not in _OF_FREE_TEXT)
# Of agents that never know what others have seen.
COELA_OPTIONS = tuple(option for option in EXACT_OPTIONS if option.name != "known_by")
LLAMAR_OPTIONS = (
    Option(
        "corrector",
        Correction.SEPARATE.value,
        "who finds out why an action failed: a role of its own, the Actor, or nobody",
        choices=tuple(mode.value for mode in Correction),
    ),
    Option(
        VERIFIER,
        VerifiedBy.MODEL.value,
        "who says what is complete: a role of its own, the structured goal, or nobody",
        choices=tuple(each.value for each in VerifiedBy),
    ),
    Option("skip_on_success", False, "whether the Corrector is left out where nothing failed"),
    Option(
        "confirm_empty_with_planner",
        False,
        "whether the Planner is asked again before a task ends because nothing is open",
    ),
    Option(
        "confirm_done_with_subtasks",
        False,
        "whether a task in which a subtask is open goes on where all agents are done",
    ),
    *TEAM_OPTIONS,
)


def wants_pictures(options: Mapping[str, OptionValue]) -> bool:
    """Whether the prompts have pictures."""
    return options.get(CAMERA_PICTURES) is True


def reads_goal(options: Mapping[str, OptionValue]) -> bool:
    """Whether the goal of the episode is read in the Verifier's place."""
    return options.get(VERIFIER) == VerifiedBy.ORACLE
