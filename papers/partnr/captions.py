"""What agents' cameras show, in the words of a vision-language model (PARTNR-A10)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from papers.partnr import prompts
from papers.partnr.react import PartnrScript
from planner.memory.wording import describe, words_of
from planner.models.caller import Caller
from planner.models.chat import (
    Fault,
    Message,
    Picture,
    Reader,
    Reference,
    ReferenceReply,
    Role,
    Speaker,
)
from planner.models.replies.form import FreeText
from planner.planning.dialogues import AgentDialogues
from planner.planning.numbered_dialogue import INVENTED
from planner.planning.part import PlannerRequest
from planner.planning.planner import AgentResult, Context, Decision
from planner.planning.planner_model import Axes, Control, MemorySource
from planner.planning.walking import Sightline, no_sightline, sightline_of, visible
from planner.world.belief import Belief, BeliefNode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.vocabulary import EntityKind, Relation


@dataclass(frozen=True, slots=True)
class View:
    """A description of one picture, and the things in it that the memory knows, by name."""

    text: str
    things: tuple[str, ...]


class Captioner:
    """Has the pictures of a task's cameras described, in calls of the role `captioner`.

    Attributes:
        counts: of pictures described, of replies without words, and of looks without a picture.
    """

    def __init__(self, request: PlannerRequest) -> None:
        """Takes the planner's request, whose model has to accept pictures."""
        self._task = request.task
        self._caller = Caller(
            request.name,
            request.model,
            Role.CAPTIONER,
            seed=request.task.seed,
            deadline_s=request.dialogue.deadline_s,
            on_call=request.on_call,
        )
        self._looks = dict.fromkeys(request.task.agents, 0)
        self._layout: House | None = None
        self._sightline: Sightline = no_sightline
        self.counts = {"captions": 0, "captions_failed": 0, "pictures_missing": 0}

    async def look(self, agents: Sequence[str], context: Context) -> Mapping[str, View]:
        """What each of these agents sees now; only a described picture shows things.

        Raises:
            ModelError: if the model does not answer, or takes no pictures.
            PlannerError: if the world makes no pictures.
        """
        if self._layout is not context.layout:
            self._layout, self._sightline = context.layout, sightline_of(context.layout)
        views = await asyncio.gather(*(self._view(agent, context) for agent in agents))
        return dict(zip(agents, views, strict=True))

    async def _view(self, agent: str, context: Context) -> View:
        picture = context.picture(agent)
        if picture is None:
            self.counts["pictures_missing"] += 1
            return View("nothing, since no picture came", ())
        seen = visible(context.belief, agent, self._sightline)
        self._looks[agent] += 1
        said = await self._described(agent, picture, [_words(one, context.belief) for one in seen])
        if said is None:
            self.counts["captions_failed"] += 1
            return View("a picture that could not be described", ())
        self.counts["captions"] += 1
        things = [node.name for node in seen if node.kind is EntityKind.OBJECT]
        return View(said, tuple(things))

    async def _described(self, agent: str, picture: Picture, in_view: Sequence[str]) -> str | None:
        """The model's words; `in_view` is what it should see. None for a reply without words."""
        number = self._looks[agent]
        key = f"{self._task.seed} {self._task.instruction} picture {number} of {agent}"

        async def reply(random: Random, reader: Reader) -> ReferenceReply:
            del reader
            return _right_words(in_view, random)

        answer = await self._caller.ask(
            (Message(Speaker.USER, prompts.CAPTION, (picture,)),),
            FreeText(),
            agents=(agent,),
            cycle=number,
            reference=Reference(key, reply),
        )
        return answer.value


def _right_words(in_view: Sequence[str], random: Random) -> ReferenceReply:
    """What a flawless captioner would say, and the same with a thing too many or too few."""
    faulty = {Fault.INVENTED_ENTITY: _sentence([*in_view, f"a {INVENTED}"])}
    if in_view:
        gap = random.randrange(len(in_view))
        faulty[Fault.SKIPPED_STEP] = _sentence([*in_view[:gap], *in_view[gap + 1 :]])
    return ReferenceReply(_sentence(in_view), faulty)


def _sentence(things: Sequence[str]) -> str:
    return f"The picture shows {', '.join(things) or 'walls and a floor'}."


def _words(node: BeliefNode, belief: Belief) -> str:
    """Class, states, and of what class that is on or in which it is; no names."""
    said = f"a {describe(node.class_name, node.states)}"
    holder = belief.nodes.get(node.parent or "")
    if holder is None or holder.kind is EntityKind.ROOM:
        return said
    where = "in" if node.relation is Relation.WITHIN else "on"
    return f"{said} {where} a {words_of(holder.class_name)}"


# PARTNR's two planners that read descriptions of pictures (PARTNR-A10, PARTNR-D66).
#
# In each turn an agent's dialogue is told what its camera shows: beside the summary of the memory,
# or in its place. Then a call can only name things that a described picture has shown.


class _CaptionedScript(PartnrScript):
    """PARTNR's wording, with what the camera shows; each view is told once."""

    def __init__(self, axes: Axes, *, name: str, show_states: bool) -> None:
        super().__init__(axes, name=name, show_states=show_states)
        self.views: dict[str, View] = {}

    def described(self, agent: str, known: str) -> str:
        """What is known, if it is told, and the view of the agent's camera, if it is new."""
        view = self.views.pop(agent, None)
        if view is None:
            return known
        named = None if self._tells_objects else view.things
        return "\n".join(filter(None, (known, prompts.camera_lines(view.text, named))))


class PartnrCaptioned:
    """One task of one team: a dialogue for each agent, and a captioner for their cameras."""

    def __init__(self, request: PlannerRequest, source: MemorySource) -> None:
        """Reads `SUMMARY` and descriptions, or only `CAPTIONS`.

        Raises:
            PlannerError: if no model is given, or one dialogue should decide for several agents.
        """
        task, control = request.task, request.axes.control
        if control is not Control.DECENTRALIZED and len(task.agents) > 1:
            raise PlannerError(
                f"the planner {request.name} has a dialogue for each agent: control decentralized, "
                f"not {control}"
            )
        control = Control.SINGLE if len(task.agents) == 1 else Control.DECENTRALIZED
        self._axes = replace(request.axes, control=control, memory_source=source)
        self._script = _CaptionedScript(
            self._axes, name=request.name, show_states=request.dialogue.show_states
        )
        self._captioner = Captioner(request)
        self._dialogues = AgentDialogues(
            self._script, task, request.model, request.dialogue, request.on_call
        )
        self._shown: set[str] = set()

    @property
    def name(self) -> str:
        """The value of the bring-up argument `planner`."""
        return self._script.name

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Keeps the results for the next turn."""
        self._dialogues.observe(results)

    async def decide(self, context: Context) -> Decision:
        """Has the idle agents' pictures described, then asks the model for their calls.

        Raises:
            ModelError: if a model gives no usable answer in time.
            PlannerError: if the world makes no pictures.
        """
        views = await self._captioner.look(context.idle, context)
        self._script.views |= views
        self._shown.update(thing for view in views.values() for thing in view.things)
        if self._axes.memory_source is MemorySource.CAPTIONS:
            context = replace(context, belief=self._seen_of(context.belief))
        decision = await self._dialogues.decide(context)
        counts = {name: str(count) for name, count in self._captioner.counts.items()}
        return replace(decision, evidence={**decision.evidence, **counts})

    def _seen_of(self, belief: Belief) -> Belief:
        """The house, and of the things those that were shown, those in hands, and what holds them.

        Where they are is as the memory has it: calls are checked and bound by it.
        """
        kept = {
            name
            for name, node in belief.nodes.items()
            if node.kind is not EntityKind.OBJECT
            or name in self._shown
            or node.relation is Relation.HELD
        }
        for name in tuple(kept):
            holder = belief.nodes.get(belief.nodes[name].parent or "")
            while holder is not None and holder.name not in kept:
                kept.add(holder.name)
                holder = belief.nodes.get(holder.parent or "")
        nodes = {name: node for name, node in belief.nodes.items() if name in kept}
        return Belief(belief.stamp_s, belief.sequence, nodes)
