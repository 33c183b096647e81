"""The right program of a task that only its words describe: to find something (HELPER-D48)."""

from __future__ import annotations

from planner.models.chat import ModelError
from planner.planning.et_agent.errand import Sought, Where
from planner.planning.et_agent.reading import read_task
from planner.planning.programs.program import Instance, Invocation, Method, Statement
from planner.planning.programs.vocabulary import default_vocabulary

# A thing's landmark is what it is near, in or on.
_LANDMARKS = (Where.INSIDE, Where.ON, Where.CLOSE)


def statements_of_words(text: str) -> tuple[Statement, ...]:
    """The statements that walk to what the words name, if that is all that they ask for.

    Raises:
        ModelError: if the words are not understood, ask for more, or name what no program can.
    """
    sought = read_task(text).only_sought
    if sought is None:
        raise ModelError(
            f"the right replies follow from an episode's goal, and this task has none: {text!r} "
            "does not only ask to find one thing"
        )
    category = _category(sought)
    variable = "".join(f"_{c.lower()}" if c.isupper() else c for c in category).strip("_")
    return (
        Instance(variable, category, _landmark(sought), ()),
        Invocation(variable, Method.GO_TO),
    )


def _landmark(sought: Sought) -> str:
    if sought.anchor is None:
        return ""
    if sought.where not in _LANDMARKS:
        raise ModelError(f"no program says {sought}: it has no word for this relation")
    return _category(sought.anchor)


def _category(sought: Sought) -> str:
    found = default_vocabulary().nearest(sought.word)
    if found is None:
        raise ModelError(f"no program can name a {sought.word}")
    return found
