"""What agents' cameras show, in the words of a vision-language model (PARTNR-A10)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random

from papers.partnr import prompts
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
from planner.models.replies.free_text import FreeText
from planner.planning.part import PlannerRequest
from planner.planning.planner import Context
from planner.planning.right_calls import INVENTED
from planner.planning.sight import Sightline, no_sightline, sightline_of, visible
from planner.world.belief import Belief, BeliefNode
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
