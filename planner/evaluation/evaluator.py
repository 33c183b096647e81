"""The evaluator: turns states of a world into percent complete, success and reasons.

A pure function of the stream of states, in one pass with latches; it receives nothing from the
planner. A state lasts until the next one, so a stream with only changes gives the same result as
one with every simulation step.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from planner.evaluation.constraints import ALL_JUDGES, Judge, JudgeError, phrase, sentence
from planner.evaluation.criteria import CriteriaJudge, keeps, shadows_nothing
from planner.evaluation.entity_checks import check_entities, facts_of_state
from planner.evaluation.predicates import Variant, Watch
from planner.evaluation.progress import Mode, Progress, PropositionProgress, Verdict
from planner.evaluation.scene import BrokenStateError, MissingEntityError, Scene
from planner.evaluation.task import Evaluation, PersonPredicate, Predicate, Proposition
from planner.world.episode import Criteria
from planner.world.errors import FileError
from planner.world.geometry import Box
from planner.world.house import House
from planner.world.state import EntityState, WorldState, vanished
from planner.world.vocabulary import EntityKind

_Reach = tuple[float, float, float, float]


class Evaluator:
    """Judges one episode.

    `EntityState` records identical to those of the previous state count as unchanged. Agents
    affect propositions only through what they move, and where they are near persons.

    Attributes:
        start_step: simulation step of the instruction; the steps of a verdict count from it.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        house: House,
        initial: WorldState,
        mode: Mode = Mode.STRICT,
        latches: Mapping[str, Any] | None = None,
        *,
        variant: Variant = Variant.BOXES,
        criteria: Criteria | None = None,
        robot: str = "agent_0",
        unmet: Sequence[str] | None = None,
    ) -> None:
        """Processes the first state, before any action (PARTNR-D4).

        Args:
            evaluation: the goal (`language.read_evaluation`).
            house: the layout of the world's house.
            initial: the state at the start.
            mode: the evaluation rules.
            latches: `latches` of an earlier evaluator of the same task, to be restored; `initial`
                is then the first state after the interruption.
            variant: whether states are ground truth or perceived; in the latter case named
                entities may be missing, and do not count until found.
            criteria: ET-Plan-Bench's, judged in addition, or alone if `evaluation` is empty.
            robot: the agent that the criteria are about.
            unmet: of a goal as understood from words, a sentence for each part that cannot be met;
                its criteria then count as much as its propositions. None = the episode's goal.

        Raises:
            FileError: if the goal is empty, or names entities that do not exist or are
                unsuitable (PARTNR-D17).
            BrokenStateError: if an entity has no place in a house, or the latches do not fit.
        """
        if house.graph is not None and variant is Variant.BOXES:
            variant = Variant.EDGES
        all_known = variant is not Variant.PERCEIVED
        if not evaluation.propositions and criteria is None and unmet is None:
            raise FileError(initial.episode_id, "evaluation", "asks for nothing")
        if evaluation.propositions:
            facts = facts_of_state(initial, house)
            check_entities(evaluation, facts, initial.episode_id, all_known=all_known)
        self.mode = mode
        self._variant = variant
        self._unmet = unmet
        self.episode_id = initial.episode_id
        self.start_step = 0
        self._judge: Judge = ALL_JUDGES.get(mode).make(evaluation)
        self._scene = Scene(house, initial.entities)
        self._criteria: CriteriaJudge | None = None
        try:
            if latches is not None:
                self._judge.restore(latches)
            if criteria is not None:
                self._criteria = CriteriaJudge(
                    criteria,
                    robot,
                    self._scene,
                    initial,
                    None if latches is None else latches["criteria"],
                    all_known=all_known,
                )
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise BrokenStateError(f"{self.episode_id}: latches do not fit: {error!r}") from None
        self._watches = [self._judge.watch(p, self._scene) for p in self._judge.propositions]
        self._texts = [phrase(p) for p in self._judge.propositions]
        self._entities: Mapping[str, EntityState] = initial.entities
        self._step = initial.step
        self._by_name: dict[str, list[Watch]] = {}
        for watch in self._watches:
            for name in watch.names:
                self._by_name.setdefault(name, []).append(watch)
        # Anything that gets between these and their supports changes the rays.
        self._cast = sorted(
            {
                name
                for p in self._judge.propositions
                if p.predicate in (Predicate.IS_ON_TOP, Predicate.IS_ON_FLOOR)
                for name in p.lists[0]
            }
        )
        # Agents are judged by where they are only for these.
        near = [
            p for p in self._judge.propositions if p.predicate == PersonPredicate.IS_NEAR_PERSON
        ]
        self._agents = frozenset(name for p in near for name in p.lists[0])
        self._verdict: Verdict | None = None
        self._failure: JudgeError | None = None
        self._judge.advance(self._step, self._watches)
        self._progress = self._measure()

    @property
    def propositions(self) -> tuple[Proposition, ...]:
        """The propositions that are counted; in mode partnr_v0 more than given (DEFECT-D2)."""
        return self._judge.propositions

    @property
    def progress(self) -> Progress:
        """The progress after the last state."""
        return self._progress

    def latches(self) -> dict[str, JsonValue]:
        """What is remembered of the states so far; changes with `progress.propositions`."""
        if self._criteria is None:
            return self._judge.latches()
        return {**self._judge.latches(), "criteria": self._criteria.latches()}

    def update(self, state: WorldState, changed: Collection[str] | None = None) -> Progress:
        """Processes the next state.

        Args:
            state: of the same episode, not earlier than the previous one.
            changed: names of all entities that are new, gone or different from the previous state,
                if known; None = they are determined here.

        Raises:
            BrokenStateError: if time runs backwards, an entity has no place in a house, or the
                episode is finished.
            MissingEntityError: if an entity that the goal names is gone and was not sliced.
            JudgeError: if the rules cannot judge it, as where the published code fails.
        """
        if self._verdict is not None:
            raise BrokenStateError(f"{self.episode_id} is finished; nothing more is judged")
        if self._failure is not None:
            raise self._failure
        if state.step < self._step:
            raise BrokenStateError(
                f"step {state.step} comes after step {self._step}: a new episode needs a new "
                "evaluator"
            )
        if changed is None:
            different, removed = _difference(self._entities, state.entities)
        else:
            different, removed = _named_changes(changed, state.entities)
        if removed:
            self._check_gone(removed, state)
        moved = self._hold_until(state.step - 1)
        dirty = self._take_up(different, removed) if different or removed else False
        self._entities = state.entities
        if self._criteria is not None and (different or removed):
            names = {*removed, *(entity.name for entity in different)}
            moved |= self._criteria.update(self._scene, state, names)
        if dirty or (self._judge.pending and state.step > self._step):
            # Steps in which neither the world nor a gate changed need no evaluation.
            self._judge.advance(state.step, self._watches)
            moved = True
        self._step = state.step
        if moved:
            self._progress = self._measure()
        elif self._progress.sim_steps != state.step:
            self._progress = _at_step(self._progress, state.step)
        return self._progress

    def changes(self, state: WorldState) -> Collection[str]:
        """Names of all entities that are new, gone or different from the previous state."""
        different, removed = _difference(self._entities, state.entities)
        return [*removed, *(entity.name for entity in different)]

    def _check_gone(self, removed: Collection[str], state: WorldState) -> None:
        """Refuses a state without what the goal names; a perceived world may lose it again."""
        if self._variant is Variant.PERCEIVED:
            return
        for name in vanished(self._entities, state.entities, removed):
            if name in self._by_name or (self._criteria is not None and self._criteria.names(name)):
                raise MissingEntityError(
                    f"{name}, which the goal names, is gone from the world's state at step "
                    f"{state.step}"
                )

    def keeps(self, reach: Mapping[str, Box]) -> bool:
        """Whether the judgement is unaffected while things move inside known boxes.

        Args:
            reach: for each moving thing, the box in the map that contains all of it from the last
                processed state until it stops; for each agent, the box of its centre's way.

        Returns:
            False if this is uncertain; then each state must be processed.
        """
        scene = self._scene
        if scene.has_edges or self._agents:
            return False
        things = {name: box for name, box in reach.items() if self._is_thing(name)}
        if not shadows_nothing(self._cast, scene, things):
            return False
        watches = {id(w): w for name in things for w in self._by_name.get(name, ())}
        if not all(keeps(watch, scene, things) for watch in watches.values()):
            return False
        return self._criteria is None or self._criteria.keeps(scene, reach, things)

    def _is_thing(self, name: str) -> bool:
        entity = self._scene.entities.get(name)
        return entity is not None and entity.kind is not EntityKind.AGENT

    def result(self) -> Verdict:
        """The verdict if the episode ended with the last state (PARTNR-E6).

        Raises:
            JudgeError: as in `update`, for any state so far.
        """
        if self._failure is not None:
            raise self._failure
        now = self._progress
        return Verdict(
            episode_id=self.episode_id,
            percent_complete=now.percent_complete,
            success=now.success,
            sim_steps=max(0, now.sim_steps - self.start_step),
            propositions=now.propositions,
            explanation=now.explanation,
            mode=now.mode,
            variant=now.variant,
            criteria=now.criteria,
            understood=now.understood,
        )

    def finish(self) -> Verdict:
        """The verdict of an episode without a time stamp for its end.

        A task is declared finished after the last change, so the last state is assumed to have
        lasted long enough for gates to open. Ends the evaluator.
        """
        if self._verdict is None:
            last = self._progress.sim_steps
            if self._hold_until(self._step + 2 * len(self._watches) + 2):
                self._progress = _at_step(self._measure(), last)
            self._verdict = self.result()
        return self._verdict

    def _hold_until(self, step: int) -> bool:
        """Lets the world stand still until a step; whether this changed anything."""
        moved = False
        while self._judge.pending and self._step < step:
            self._step += 1
            self._judge.advance(self._step, self._watches)
            moved = True
        return moved

    def _take_up(self, changed: list[EntityState], removed: list[str]) -> bool:
        """Updates scene and witnesses; whether anything that counts has changed."""
        acts, near = EntityKind.AGENT, self._agents
        seen = [entity for entity in changed if entity.kind is not acts or entity.name in near]
        names = {*removed, *(entity.name for entity in seen)}
        if not names:
            return False
        reach = [self._scene.footprint(name) for name in names] if self._cast else []
        self._scene.update(seen, removed)
        watches = {id(w): w for name in names for w in self._by_name.get(name, ())}
        if self._cast:
            reach += [self._scene.footprint(name) for name in names]
            shadowed = {name for name in self._cast if self._is_shadowed(name, reach)}
            names |= shadowed
            for name in shadowed:
                watches.update((id(w), w) for w in self._by_name[name])
        different = False
        for watch in watches.values():
            different |= watch.refresh(self._scene, names)
        return different

    def _is_shadowed(self, name: str, reach: list[_Reach | None]) -> bool:
        box = self._scene.box(name)
        if box is None:
            return False
        (x0, y0, _), (x1, y1, _) = box.minimum_m, box.maximum_m
        return any(
            r is not None and r[0] <= x1 and x0 <= r[2] and r[1] <= y1 and y0 <= r[3] for r in reach
        )

    def _measure(self) -> Progress:
        judge = self._judge
        try:
            statuses = judge.statuses(self._watches)
        except JudgeError as error:
            self._failure = error
            raise
        firsts = judge.first_steps
        details = [
            sentence(i, s, judge.propositions, firsts, self._watches[i].serving)
            for i, s in enumerate(statuses)
        ]
        unmet = self._unmet or ()
        criteria = self._criteria.progress if self._criteria is not None else None
        counted: float = sum(s.reason is None for s in statuses)
        success, total = counted == len(statuses) and not unmet, len(statuses) + len(unmet)
        reasons = [*details, *unmet]
        if criteria is not None and (not statuses or self._unmet is not None):
            success, total = success and criteria.success, total + 1
            counted += criteria.share
            reasons.append(criteria.explanation)
        return Progress(
            percent_complete=counted / total if total else 1.0,
            success=success,
            sim_steps=self._step,
            propositions=tuple(
                PropositionProgress(
                    index=i,
                    text=self._texts[i],
                    holds=self._watches[i].holds,
                    satisfied=s.reason is None,
                    first_step=firsts[i],
                    reason=s.reason,
                    detail=details[i],
                )
                for i, s in enumerate(statuses)
            ),
            explanation=" ".join(text for text in reasons if text),
            mode=self.mode,
            variant=self._variant,
            criteria=criteria,
            understood=self._unmet is not None,
        )


def _at_step(progress: Progress, step: int) -> Progress:
    # Several times as fast as dataclasses.replace, which matters at every step.
    return Progress(
        progress.percent_complete,
        progress.success,
        step,
        progress.propositions,
        progress.explanation,
        progress.mode,
        progress.variant,
        progress.criteria,
        progress.understood,
    )


def _named_changes(
    names: Collection[str], new: Mapping[str, EntityState]
) -> tuple[list[EntityState], list[str]]:
    return [new[name] for name in names if name in new], [n for n in names if n not in new]


def _difference(
    old: Mapping[str, EntityState], new: Mapping[str, EntityState]
) -> tuple[list[EntityState], list[str]]:
    """The entities that are new or changed, and the names of those that are gone."""
    if old is new:
        return [], []
    if len(old) == len(new):
        # Compare without a Python-level loop, since most entities are unchanged.
        differ = list(map(operator.is_not, old.values(), new.values()))
        changed = [b for b in itertools.compress(new.values(), differ) if old.get(b.name) is not b]
        if all(b.name in old for b in changed):
            return changed, []
        return changed, [name for name in old if name not in new]
    changed = [entity for name, entity in new.items() if old.get(name) is not entity]
    return changed, [name for name in old if name not in new]
