"""PARTNR's two planners that read descriptions of pictures (PARTNR-A10, PARTNR-D66).

In each turn an agent's dialogue is told what its camera shows: beside the summary of the memory, or
in its place. Then a call can only name things that a described picture has shown.
"""

from __future__ import annotations

from dataclasses import replace

from papers.partnr import prompts
from papers.partnr.captions import Captioner, View
from papers.partnr.react import PartnrScript
from planner.planning.dialogues import AgentDialogues
from planner.planning.part import PlannerRequest
from planner.planning.planner import AgentResult, Context, Decision
from planner.planning.planner_model import Axes, Control, MemorySource
from planner.world.belief import Belief
from planner.world.errors import PlannerError
from planner.world.vocabulary import EntityKind, Relation


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
