"""What `expert` notes down while it works: where agents stand, what was searched, what failed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from planner.planning.planner import AgentResult
from planner.world.skill import SkillCall, SkillCode, SkillName
from planner.world.vocabulary import Relation

# A call is tried this often before its target is set aside.
MOST_TRIES = 3
# Then everything that was set aside is tried again, and everything is searched again.
MOST_ROUNDS = 2
# Failures of a whole task before it is given up.
MOST_FAILURES = 80

# Codes that no second try of the same call would change.
HOPELESS = frozenset(
    {
        SkillCode.UNPARSABLE,
        SkillCode.UNKNOWN_SKILL,
        SkillCode.WRONG_ARGUMENTS,
        SkillCode.WRONG_ROLE,
        SkillCode.NOT_ABLE,
        SkillCode.NOT_ARTICULATED,
        SkillCode.NO_AFFORDANCE,
        SkillCode.UNREACHABLE,
    }
)
_WALKING = frozenset({SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE, SkillName.EXPLORE})

Spot = tuple[Relation, str]


@dataclass(frozen=True, slots=True)
class Look:
    """A place to look at: a furniture's outside, its inside, or a floor."""

    furniture: str
    inside: bool


@dataclass
class Notes:
    """The short memory of one task; everything else is read from the belief each time.

    Attributes:
        at: where each agent last walked to, until it walks elsewhere or something fails there.
        looked: furniture whose outside was looked at.
        looked_into: furniture that was looked into while open.
        shut: furniture that turned out to be closed, whatever the belief says.
        beside: pairs that a skill put next to each other, and the furniture they are on.
        choice: the spot chosen for a thing, kept while it can be used.
        value: the value chosen for a tie.
        searching: what each searching agent is about to look at.
        bad_spots: (thing, spot) that did not work.
        bad_things: things that could not be taken or changed.
        gone: things that were not where they were believed, and when that was found.
        why: the last failure's text of each thing or furniture.
        inside_of: the furniture that a thing was believed to be inside of.
        tries: failures of each call since it last succeeded.
    """

    at: dict[str, str] = field(default_factory=dict)
    looked: set[str] = field(default_factory=set)
    looked_into: set[str] = field(default_factory=set)
    shut: set[str] = field(default_factory=set)
    beside: dict[frozenset[str], str] = field(default_factory=dict)
    choice: dict[str, Spot] = field(default_factory=dict)
    value: dict[int, str] = field(default_factory=dict)
    searching: dict[str, Look] = field(default_factory=dict)
    bad_spots: set[tuple[str, Spot]] = field(default_factory=set)
    bad_things: set[tuple[str, SkillName]] = field(default_factory=set)
    gone: dict[str, float] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    inside_of: dict[str, str] = field(default_factory=dict)
    tries: Counter[str] = field(default_factory=Counter)
    failures: int = 0
    rounds: int = 1
    search_rounds: int = 1

    def take(self, ended: AgentResult) -> None:
        """Notes how a call ended."""
        if ended.result.succeeded:
            self._succeeded(ended.agent, ended.call)
        elif ended.result.code is not SkillCode.CANCELED:
            self._failed(ended)

    def _succeeded(self, agent: str, call: SkillCall) -> None:
        target = call.arguments[0] if call.arguments else None
        if target is None:
            return
        self.tries.pop(str(call), None)
        if call.name in _WALKING:
            self.at[agent] = target
        if call.name is SkillName.EXPLORE_FURNITURE:
            self.looked.add(target)
            look = self.searching.pop(agent, None)
            if look == Look(target, inside=True):
                self.looked_into.add(target)
        elif call.name is SkillName.OPEN:
            # The skill looks into everything that it opens.
            self.shut.discard(target)
            self.looked_into.add(target)
        elif call.name is SkillName.CLOSE:
            self.shut.add(target)
        elif call.name is SkillName.PICK:
            self.gone.pop(target, None)
            self.beside = {k: v for k, v in self.beside.items() if target not in k}
        elif call.name is SkillName.PLACE:
            self.choice.pop(target, None)
            furniture, reference = call.arguments[2], call.arguments[4]
            if furniture is not None and reference is not None:
                self.beside[frozenset((target, reference))] = furniture

    def _failed(self, ended: AgentResult) -> None:
        call, code = ended.call, ended.result.code
        self.failures += 1
        self.at.pop(ended.agent, None)
        key = str(call)
        self.tries[key] += 1
        target = call.arguments[0] if call.arguments else None
        if target is None:
            return
        self.why[target] = f"{call}: {ended.result.text}"
        hopeless = code in HOPELESS or self.tries[key] >= MOST_TRIES
        if code is SkillCode.FURNITURE_CLOSED:
            self._closed(call, target)
        if code in (SkillCode.UNKNOWN_ENTITY, SkillCode.NOT_GROUNDED) and self.tries[key] > 1:
            self.gone[target] = ended.ended_s
        if call.name is SkillName.PLACE:
            self._place_failed(call, target, code, hopeless=hopeless)
        elif call.name in (SkillName.EXPLORE_FURNITURE, SkillName.OPEN) and hopeless:
            self.looked.add(target)
            self.looked_into.add(target)
            self.searching.pop(ended.agent, None)
            self._furniture_unusable(target)
        elif hopeless:
            self._unusable(ended.agent, call.name, target)

    def _closed(self, call: SkillCall, target: str) -> None:
        furniture = call.arguments[2] if call.name is SkillName.PLACE else None
        self.shut.add(furniture or self.inside_of.get(target, target))

    def _place_failed(
        self, call: SkillCall, thing: str, code: SkillCode, *, hopeless: bool
    ) -> None:
        relation, furniture = call.arguments[1], call.arguments[2]
        if relation is None or furniture is None:
            return
        self.why[furniture] = self.why[thing]
        # No room there from one side may be room from another, but not twice.
        if hopeless or (code is SkillCode.NO_PLACEMENT and self.tries[str(call)] > 1):
            self.bad_spots.add((thing, (Relation(relation), furniture)))
            self.choice.pop(thing, None)

    def _furniture_unusable(self, furniture: str) -> None:
        for thing, spot in list(self.choice.items()):
            if spot[1] == furniture:
                self.bad_spots.add((thing, spot))
                del self.choice[thing]

    def _unusable(self, agent: str, skill: SkillName, target: str) -> None:
        self.searching.pop(agent, None)
        self.looked.add(target)
        self.looked_into.add(target)
        self.bad_things.add((target, skill))
        self._furniture_unusable(target)

    def unusable(self, thing: str, *skills: SkillName) -> bool:
        """Whether one of the skills was tried on it too often."""
        return any((thing, skill) in self.bad_things for skill in skills)

    def start_over(self) -> bool:
        """Forgets what did not work, so that it is tried again; False when that was done enough."""
        if self.rounds >= MOST_ROUNDS or not (self.bad_spots or self.bad_things or self.tries):
            return False
        self.rounds += 1
        self.bad_spots.clear()
        self.bad_things.clear()
        self.tries.clear()
        self.choice.clear()
        return True

    def search_again(self) -> bool:
        """Forgets what was looked at; False when everything was looked at often enough."""
        if self.search_rounds >= MOST_ROUNDS:
            return False
        self.search_rounds += 1
        self.looked.clear()
        self.looked_into.clear()
        return True
