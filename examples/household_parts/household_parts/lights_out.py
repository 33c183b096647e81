"""Planner `lights_out`: agents that can switch off what is on; the others search for more."""

from planner.parts.option import Option
from planner.planning.part import PlannerPart, PlannerRequest
from planner.planning.planner import AgentResult, Context, Decision
from planner.world.skill import SkillCall, SkillName
from planner.world.vocabulary import EntityKind


class LightsOut:
    """Carries out one task, always the same way."""

    def __init__(self, max_rooms: int) -> None:
        """Searches at most this many rooms."""
        self._max_rooms = max_rooms
        self._explored: list[str] = []
        self._tried: set[str] = set()
        # An agent's next call after its walk.
        self._then: dict[str, SkillCall] = {}

    @property
    def name(self) -> str:
        """The planner's name."""
        return "lights_out"

    def observe(self, results: tuple[AgentResult, ...]) -> None:
        """Ignores results: failed calls are not repeated."""

    async def decide(self, context: Context) -> Decision:
        """A call for each idle agent."""
        return Decision({agent: self._call(agent, context) for agent in context.idle})

    def _call(self, agent: str, context: Context) -> SkillCall:
        if agent in self._then:
            return self._then.pop(agent)
        able = context.capabilities[agent].primitives
        for node in context.belief.nodes.values():
            lit = node.states.get("powered_on", False) and node.name not in self._tried
            if lit and "power_off" in able:
                self._tried.add(node.name)
                self._then[agent] = SkillCall(SkillName.POWER_OFF, (node.name,))
                return SkillCall(SkillName.NAVIGATE, (node.name,))
        rooms = [room.name for room in context.belief.of_kind(EntityKind.ROOM)]
        for room in rooms[: self._max_rooms]:
            if room not in self._explored:
                self._explored.append(room)
                return SkillCall(SkillName.EXPLORE, (room,))
        return SkillCall(SkillName.DONE)


def _make(request: PlannerRequest) -> LightsOut:
    return LightsOut(int(request.options["max_rooms"]))


PLANNER = PlannerPart(
    summary="switches off whatever is on",
    make=_make,
    options=(Option("max_rooms", 20, "rooms to look into", min_value=1, max_value=100),),
)
