"""Binds a goal's descriptions to known things, more of them as more becomes known."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from planner.grounding.choosing import Choice, choice_json, choice_of
from planner.grounding.grounder import Grounder
from planner.grounding.records import Grounding, Question
from planner.grounding.scene import Scene, as_first_known
from planner.language.goal_form import Goal


class Binder:
    """A goal over descriptions, and the things that they mean so far.

    What a description once was bound to stays bound, even where later knowledge fits better.

    Args:
        goal: what the instruction means.
        choices: what was answered already, by the keys of descriptions.
        settle: never ask: where several fit, any of them will do.
        tied: but the same one wherever the goal says "the table".
    """

    def __init__(
        self,
        goal: Goal,
        choices: Mapping[str, Choice] | None = None,
        *,
        settle: bool = False,
        tied: bool = False,
    ) -> None:
        self.goal = goal
        self._choices = dict(choices or {})
        self._settle, self._tied = settle, tied
        self._searched: set[str] = set()
        self._first: Scene | None = None
        self._bound: dict[str, tuple[str, ...]] = {}

    def update(self, scene: Scene) -> Grounding:
        """The goal in the names of what is known now."""
        self._first = scene if self._first is None else as_first_known(self._first, scene)
        grounder = Grounder(
            self.goal,
            self._first.with_slices(),
            self._choices,
            self._bound,
            frozenset(self._searched),
            settle=self._settle,
            tied=self._tied,
        )
        found = grounder.ground()
        self._bound = dict(found.bound)
        return found

    def give_up(self, key: str) -> None:
        """Nothing more that fits a description can be found; `update` then counts without it."""
        self._searched.add(key)

    def answered(self, question: Question, text: str) -> bool:
        """Takes up an answer; False if it is not clear what it means."""
        if self._first is None:
            return False
        choice = choice_of(question, text, self._first)
        if choice is None:
            return False
        self._choices[question.key] = choice
        self._bound.pop(question.key, None)
        return True

    def whichever_is_meant(self, scene: Scene) -> Grounding:
        """The same goal where an open question does not matter, as the evaluator takes it."""
        first = scene if self._first is None else as_first_known(self._first, scene)
        return Binder(self.goal, self._choices, settle=True).update(first)

    @property
    def understood(self) -> dict[str, JsonValue]:
        """The goal as it is published for the evaluator, which binds it to the true world."""
        form = self.goal.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        answers: list[JsonValue] = [choice_json(k, choice) for k, choice in self._choices.items()]
        return {"understood": form, "answers": answers}
