"""What people say: dialogues in the form of the paper, and answers to the question at the end."""

from __future__ import annotations

import re

from planner.world.instruct import one_line

COMMANDER, DRIVER = "<Commander>", "<Driver>"
# Longer ones are cut: what a person says at the end fits, and a prompt stays readable by a model.
MAX_CHARACTERS = 6000
QUESTION = "I have finished. Are you satisfied, or did I miss something?"
_TURN = re.compile(r"\n(?=(?:Question|Answer): )")
_TAG = re.compile(r"<(Commander|Driver)>", re.IGNORECASE)
_MARKS = re.compile(r"[^\w\s']")
# The whole answer is one or two of these.
_DONE = frozenset(
    {
        "done", "all done", "yes", "yes done", "yes thanks", "yes thank you", "yes satisfied",
        "satisfied", "i am satisfied", "i'm satisfied", "thanks", "thank you", "perfect", "great",
        "good", "good job", "well done", "nothing", "nothing missing", "nothing else", "no nothing",
        "that is all", "that's all", "that is it", "all good", "fine", "yes all done", "looks good",
        "everything is done", "you are done", "you're done", "task is done", "the task is done",
    }
)  # fmt: skip


def as_dialogue(instruction: str) -> str:
    """An instruction as a dialogue on one line: `<Commander> ... <Driver> ...` (HELPER-D41).

    An instruction alone stays as it is. The questions and answers that `/instruct` appends are
    turns of both, after one of the Commander. It is cut at `MAX_CHARACTERS`.
    """
    first, *more = _TURN.split(instruction)
    text = one_line(first)
    if more and not _TAG.match(text):
        text = f"{COMMANDER} {text}"
    text = _TAG.sub(lambda tag: f"<{tag[1].capitalize()}>", text)
    for turn in more:
        kind, _, words = turn.partition(": ")
        text += f" {DRIVER if kind == 'Question' else COMMANDER} {_without_tags(words)}"
    return text[:MAX_CHARACTERS]


def answered_before(instruction: str) -> str | None:
    """The answer to the question at the end, where `/instruct` was given it; None if it was not.

    Without somebody to ask during a task, a client sends it again with question and answer.
    """
    *_, asked, said = ("", "", *_TURN.split(instruction))
    if asked != f"Question: {QUESTION}":
        return None
    return said.removeprefix("Answer: ")


def as_feedback(question: str, answer: str) -> str:
    """The answer to the question at the end, as a new input of the planner (HELPER-2.4)."""
    return f"{DRIVER} {_without_tags(question)} {COMMANDER} {_without_tags(answer)}"[
        :MAX_CHARACTERS
    ]


def is_done(answer: str) -> bool:
    """Whether an answer says that nothing is missing; anything else says what is."""
    clauses = re.split(r"[.,;!]+", one_line(answer).casefold())
    words = [" ".join(_MARKS.sub(" ", clause).split()) for clause in clauses]
    said = [clause for clause in words if clause]
    return bool(said) and all(clause in _DONE for clause in said)


def _without_tags(words: str) -> str:
    """Words of one turn: they cannot begin another."""
    return one_line(_TAG.sub(" ", words))
