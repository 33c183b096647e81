"""The author that asks a language model: planner, rectifier and locator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache

from planner.planning.helper.asking import Asking
from planner.planning.helper.author import FailedStatement
from planner.planning.helper.diagnosis import Diagnosis, ImageTextMatcher, diagnose
from planner.planning.helper.examples import Examples
from planner.planning.helper.program_record import RecordKind
from planner.planning.helper.roles import LocatorRole, PlannerRole, RectifierRole
from planner.planning.planner import Context
from planner.planning.programs.program import Program
from planner.planning.programs.vocabulary import default_vocabulary
from planner.world.belief import BeliefNode
from planner.world.vocabulary import EntityKind


class ModelAuthor:
    """A `planner.planning.helper.author.ProgramAuthor` for one task."""

    def __init__(
        self, asking: Asking, examples: Examples, matcher: ImageTextMatcher | None = None
    ) -> None:
        """`matcher` reads failures from pictures; None = they follow from the skills' codes."""
        self._asking, self._examples, self._matcher = asking, examples, matcher
        self._diagnoses: list[str] = []
        self._shown: Counter[int] = Counter()

    @property
    def problem(self) -> str:
        """Why the last reply could not be read; "" = it could."""
        return self._asking.problem

    @property
    def evidence(self) -> Mapping[str, str]:
        """Number of calls and unread replies, diagnoses, examples, faults of a privileged model."""
        asking = self._asking
        faults: Mapping[str, int] = asking.faults or {}
        return {
            **asking.axes.as_parameters(),
            "model_calls": str(asking.calls),
            "unread_replies": str(asking.unread),
            "diagnoses": "; ".join(self._diagnoses)[:2000],
            "examples": ", ".join(map(str, sorted(self._shown))),
            "faults": ", ".join(f"{fault} {count}" for fault, count in sorted(faults.items())),
        }

    async def program(self, dialogue: str, context: Context) -> Program | None:
        """The planner's program.

        Raises:
            ModelError: if there is no reply.
        """
        examples = self._examples.of(dialogue, RecordKind.PLAN)
        role = PlannerRole(dialogue, examples, classes_of(context))
        return await self._asking.ask(role, context, self._note_examples())

    async def repair(
        self, failure: FailedStatement, dialogue: str, context: Context
    ) -> Program | None:
        """The rectifier's program, after a diagnosis.

        Raises:
            ModelError: if there is no reply.
            PlannerError: if the image-text model scores the sentences wrongly.
        """
        diagnosis = self._diagnosis(failure, context)
        self._diagnoses.append(f"{failure.statement}: {diagnosis.chosen.name}")
        sentence = diagnosis.sentence
        examples = self._examples.of(dialogue, RecordKind.CORRECTION, sentence)
        role = RectifierRole(failure.statement, sentence, dialogue, examples, classes_of(context))
        seen = diagnosis.by_picture
        notes = {
            "diagnosis": sentence,
            "diagnosed_by": diagnosis.diagnosed.value,
            "failure_by_code": diagnosis.by_code.name,
            "failure_by_picture": seen.name if seen is not None else "",
        }
        repair = await self._asking.ask(role, context, {**self._note_examples(), **notes})
        return None if repair is None else repair.program

    def _diagnosis(self, failure: FailedStatement, context: Context) -> Diagnosis:
        picture = context.picture(failure.agent) if self._matcher is not None else None
        image = picture.image if picture is not None else None
        return diagnose(failure.code, failure.method, picture=image, matcher=self._matcher)

    async def places(self, target: str, dialogue: str, context: Context) -> tuple[str, ...]:
        """The locator's three categories.

        Raises:
            ModelError: if there is no reply.
        """
        role = LocatorRole(target, dialogue, classes_of(context))
        return await self._asking.ask(role, context) or ()

    def _note_examples(self) -> Mapping[str, str]:
        self._shown.update(self._examples.shown)
        return {"examples": ", ".join(map(str, self._examples.shown))}


def classes_of(context: Context) -> tuple[str, ...]:
    """The closed list, and names of classes beyond it that are known to be in the house."""
    known = {piece.class_name for piece in context.layout.furniture}
    known |= {
        node.class_name for node in context.belief.nodes.values() if node.kind is EntityKind.OBJECT
    }
    return _names(frozenset(known))


@lru_cache(maxsize=64)
def _names(known: frozenset[str]) -> tuple[str, ...]:
    vocabulary = default_vocabulary()
    named = {vocabulary.name_of(word) for word in known} - {None, *vocabulary.names}
    return (*vocabulary.names, *sorted(name for name in named if name is not None))


def is_of(category: str, node: BeliefNode) -> bool:
    """Whether something is of a category of programs."""
    return node.class_name in default_vocabulary().classes_of(category)
