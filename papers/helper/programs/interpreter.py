"""Carries out a program for one agent: each statement becomes typed skill calls (HELPER-2.6).

A queue holds the statements. The first one is looked at anew each time the agent is idle: what it
needs is put before it, what is true already is dropped, and else it is a skill call. So a statement
that failed is simply looked at again after its repair.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from papers.helper.programs.bindings import Bindings, Situation, is_own
from papers.helper.programs.macros import (
    NoWayError,
    aftermath,
    call_of,
    is_done_already,
    renamed,
    steps_of,
    wanted_states,
)
from papers.helper.programs.preconditions import Scene, missing_before, missing_before_skill
from papers.helper.programs.program import (
    Aftermath,
    Correction,
    Corrective,
    DoNothing,
    Executed,
    Failed,
    Finished,
    Instance,
    Invocation,
    Method,
    Missing,
    Outcome,
    Program,
    SkillStep,
    Statement,
    Step,
    Work,
    default_vocabulary,
    variables_of,
)
from planner.planning.expert.facts import planar_m
from planner.planning.planner import Context
from planner.world.errors import PlannerError
from planner.world.geometry import Vec3
from planner.world.skill import SkillCall, SkillCode, SkillName, SkillResult

# How often statements may be put before one, and how many steps one decision may look at.
_MAX_INSERTIONS = 24
_MAX_TURNS = 400
# How many places without room are passed over for what is put down anywhere.
_MAX_FULL = 12
# An agent that is this far from where it ended its last step stands somewhere else.
_MOVED_M = 0.6
_MOVES = {
    Corrective.MOVE_BACK: "Back",
    Corrective.MOVE_CLOSER: "Ahead",
    Corrective.MOVE_ALTERNATE_VIEWPOINT: "Left",
}
_OUT_OF_REACH = (SkillCode.TOO_FAR, SkillCode.NOT_VISIBLE)
_WALKS = (SkillName.NAVIGATE, SkillName.EXPLORE_FURNITURE)


@dataclass
class _Frame:
    """An entry of the queue.

    Attributes:
        work: the statement or step.
        origin: the program's statement that it serves.
        is_stated: whether it is that statement itself.
        insertions: how often something was put before it.
        walked_again: whether the agent has walked to it once more.
    """

    work: Work
    origin: Statement
    is_stated: bool = False
    insertions: int = 0
    walked_again: bool = False


class Interpreter:
    """One program of one agent.

    Attributes:
        executed: what ran, in order, also what was true already, failed or was skipped.
    """

    def __init__(
        self,
        program: Program,
        *,
        agent: str,
        checks_preconditions: bool = True,
    ) -> None:
        """`checks_preconditions` off sends each statement as it is."""
        self._agent, self._checks = agent, checks_preconditions
        self._vocabulary = default_vocabulary()
        self._queue = deque(_Frame(one, one, is_stated=True) for one in program.statements)
        self._bindings = Bindings()
        self._repairs = 0
        self._repairing: tuple[str, ...] = ()
        self._running: tuple[_Frame, SkillCall, tuple[str, ...]] | None = None
        self._failed: Failed | None = None
        self._at = ""
        self._at_m: Vec3 | None = None
        self._has_moved = False
        self._full: set[str] = set()
        self.executed: tuple[Executed, ...] = ()

    @property
    def queue(self) -> tuple[Work, ...]:
        """The statements and steps that are left, the next one first."""
        return tuple(frame.work for frame in self._queue)

    def next(self, context: Context) -> Step:
        """The agent's next step, given what is known; the same one until something changes.

        Raises:
            PlannerError: if the last call has not been observed.
        """
        if self._running is not None:
            raise PlannerError(f"{self._agent} is still busy with {self._running[1]}")
        situation = Situation(context, self._agent, self._vocabulary)
        self._look_where_it_stands(situation)
        for _ in range(_MAX_TURNS):
            if self._failed is not None:
                return self._failed
            if not self._queue:
                return Finished()
            step = self._turn(self._queue[0], situation)
            if step is not None:
                return step
        return self._fail(self._queue[0], SkillCode.NEED_UNMET, "Its preconditions go in circles.")

    def observe(self, result: SkillResult) -> None:
        """Takes the result of the last call: goes on, or marks the statement as failed."""
        if self._running is None:
            return
        frame, call, entities = self._running
        self._running = None
        self._has_moved = True
        if not result.succeeded and self._looks_again(frame, call, result, entities):
            return
        if not result.succeeded:
            self._failed = Failed(
                frame.origin, frame.work, call, result.code, result.text, entities
            )
            self._note(frame, Outcome.FAILED, call, result.text, entities)
            return
        if call.name in _WALKS:
            self._at = call.arguments[0] or ""
        self._note(frame, Outcome.DONE, call, result.text, entities)
        self._drop(frame)
        self._after(frame, entities)

    def _looks_again(
        self, frame: _Frame, call: SkillCall, result: SkillResult, entities: tuple[str, ...]
    ) -> bool:
        """Whether a failure needs no repair.

        A step of a repair that moves the agent may fail; and where a thing is out of reach after
        all, the precondition that the agent stands at it did not hold (HELPER-D5).
        """
        if isinstance(frame.work, Correction):
            self._note(frame, Outcome.FAILED, call, result.text, entities)
            self._drop(frame)
            return True
        walked = call.name in _WALKS
        if self._is_full(frame, call, result):
            self._full.add(call.arguments[2] or "")
            self._note(frame, Outcome.FAILED, call, result.text, entities)
            return True
        if not self._checks or walked or frame.walked_again or result.code not in _OUT_OF_REACH:
            return False
        frame.walked_again = True
        self._at = ""
        self._note(frame, Outcome.FAILED, call, result.text, entities)
        return True

    def _is_full(self, frame: _Frame, call: SkillCall, result: SkillResult) -> bool:
        put_down = isinstance(frame.work, Invocation) and frame.work.method is Method.PUT_DOWN
        if not put_down or result.code is not SkillCode.NO_PLACEMENT:
            return False
        return call.arguments[2] not in self._full and len(self._full) < _MAX_FULL

    def insert(self, program: Program) -> None:
        """Puts a repair before the failed statement, which is then tried again.

        A repair of nothing but `do_nothing()` gives the failed statement up (HELPER-D8).
        """
        if all(isinstance(one, DoNothing) for one in program.statements):
            self.skip()
            return
        self._repairing = self._failed.entities if self._failed is not None else ()
        self._failed = None
        self._repairs += 1
        statements = renamed(program.statements, f"repair{self._repairs}")
        repair = zip(statements, program.statements, strict=True)
        frames = [_Frame(one, stated, is_stated=True) for one, stated in repair]
        self._queue.extendleft(reversed(frames))

    def skip(self) -> None:
        """Gives up the current statement, with all that was put before it."""
        self._failed = self._running = None
        if not self._queue:
            return
        first = self._queue[0]
        self._note(first, Outcome.SKIPPED)
        while self._queue and self._queue[0].origin is first.origin:
            self._queue.popleft()

    def not_found(self, context: Context) -> None:
        """The search for what is missing is over: another variable's instance will do, if any."""
        if not self._queue:
            return
        situation = Situation(context, self._agent, self._vocabulary)
        frame = self._queue[0]
        for variable in variables_of(frame.work):
            binding = self._bindings.by_variable.get(variable)
            if binding is None or self._entity(variable, situation):
                continue
            binding.reuses = True
            if not self._entity(variable, situation):
                name = binding.instance.class_name
                self._fail(frame, SkillCode.UNKNOWN_ENTITY, f"No {name} was found.")

    # ---- one turn ---------------------------------------------------------------------------

    def _turn(self, frame: _Frame, situation: Situation) -> Step | None:
        """Looks at the first entry: a step, or None after the queue has changed."""
        work = frame.work
        if isinstance(work, Instance):
            following = [one.work for one in list(self._queue)[1:]]
            self._bindings.declare(work, following)
            self._drop(frame)
            return None
        if isinstance(work, DoNothing):
            self._note(frame, Outcome.ALREADY_TRUE)
            self._drop(frame)
            return None
        if isinstance(work, Correction):
            return self._start(frame, SkillCall("Move", (_MOVES[work.move],)), ())
        scene = self._scene(frame, work, situation)
        if not isinstance(scene, Scene):
            return scene
        if isinstance(work, Aftermath):
            self._drop(frame)
            self._push(frame.origin, aftermath(scene, runs=work.runs))
            return None
        return self._act(frame, work, scene)

    def _scene(
        self, frame: _Frame, work: Invocation | SkillStep | Aftermath, situation: Situation
    ) -> Scene | Missing | Failed:
        found: list[str] = []
        for variable in variables_of(work):
            entity = self._entity(variable, situation)
            if not entity:
                return self._missing(frame, variable)
            found.append(entity)
        argument = work.argument if isinstance(work, Invocation) else ""
        place = found[1] if argument else ""
        return Scene(
            situation,
            self._bindings,
            work.variable,
            found[0],
            argument,
            place,
            self._at,
            frozenset(self._full),
        )

    def _entity(self, variable: str, situation: Situation) -> str:
        preferred = self._repairing if is_own(variable) else ()
        return self._bindings.entity(variable, situation, preferred)

    def _missing(self, frame: _Frame, variable: str) -> Missing | Failed:
        instance = self._bindings.by_variable[variable].instance
        classes = self._vocabulary.classes_of(instance.class_name)
        if not classes:
            sentence = f"No house here has a {instance.class_name}."
            return self._fail(frame, SkillCode.UNKNOWN_ENTITY, sentence)
        return Missing(instance.class_name, instance.landmark, classes, frame.origin)

    def _act(self, frame: _Frame, work: Invocation | SkillStep, scene: Scene) -> Step | None:
        if scene.place == scene.thing:
            sentence = f"{scene.thing} cannot be put on or into itself."
            return self._fail(frame, SkillCode.WRONG_ARGUMENTS, sentence, (scene.thing,))
        # Without preconditions nobody looks whether a statement is needed.
        if (self._checks or not frame.is_stated) and is_done_already(work, scene):
            self._note(frame, Outcome.ALREADY_TRUE, entities=(scene.thing,))
            self._drop(frame)
            if isinstance(work, Invocation) and work.method is Method.TOGGLE_ON:
                self._push(frame.origin, (Aftermath(work.variable, runs=True),))
            return None
        if self._checks:
            extra = self._missing_before(frame, work, scene)
            if extra:
                return self._put_before(frame, extra)
        if isinstance(work, Invocation):
            steps = self._expanded(frame, work, scene)
            if isinstance(steps, Failed):
                return steps
            if steps is not None:
                self._drop(frame)
                self._push(frame.origin, steps)
                return None
        call = call_of(work, scene)
        entities = (scene.thing, *((scene.place,) if scene.place else ()))
        if call is None:
            sentence = f"There is nowhere to put {scene.thing}."
            return self._fail(frame, SkillCode.NO_PLACEMENT, sentence, entities)
        return self._start(frame, call, entities)

    def _missing_before(
        self, frame: _Frame, work: Invocation | SkillStep, scene: Scene
    ) -> tuple[Work, ...]:
        if isinstance(work, SkillStep):
            return missing_before_skill(scene)
        wanted = wanted_states(work, scene) if frame.is_stated else ()
        return wanted or missing_before(work.method, scene)

    def _expanded(
        self, frame: _Frame, work: Invocation, scene: Scene
    ) -> tuple[Work, ...] | Failed | None:
        try:
            return steps_of(work, scene)
        except NoWayError as error:
            return self._fail(frame, SkillCode.NO_AFFORDANCE, error.sentence, (scene.thing,))

    # ---- the queue --------------------------------------------------------------------------

    def _put_before(self, frame: _Frame, extra: Sequence[Work]) -> Failed | None:
        frame.insertions += 1
        if frame.insertions > _MAX_INSERTIONS:
            sentence = "Its preconditions cannot be made true."
            return self._fail(frame, SkillCode.NEED_UNMET, sentence)
        self._push(frame.origin, extra)
        return None

    def _push(self, origin: Statement, works: Sequence[Work]) -> None:
        self._queue.extendleft(reversed([_Frame(work, origin) for work in works]))

    def _drop(self, frame: _Frame) -> None:
        if self._queue and self._queue[0] is frame:
            self._queue.popleft()

    def _start(self, frame: _Frame, call: SkillCall, entities: tuple[str, ...]) -> SkillCall:
        self._running = (frame, call, entities)
        return call

    def _fail(
        self, frame: _Frame, code: SkillCode, sentence: str, entities: tuple[str, ...] = ()
    ) -> Failed:
        text = SkillResult.failure(code, sentence).text
        self._failed = Failed(frame.origin, frame.work, None, code, text, entities)
        self._note(frame, Outcome.FAILED, None, text, entities)
        return self._failed

    def _note(
        self,
        frame: _Frame,
        outcome: Outcome,
        call: SkillCall | None = None,
        text: str = "",
        entities: Sequence[str] = (),
    ) -> None:
        entity = entities[0] if entities else ""
        done = Executed(frame.origin, frame.work, outcome, call, text, entity)
        self.executed = (*self.executed, done)

    def _after(self, frame: _Frame, entities: tuple[str, ...]) -> None:
        """What a step that succeeded brings about."""
        work = frame.work
        if not isinstance(work, Invocation):
            return
        if work.method is Method.PICKUP:
            self._bindings.picked_as[entities[0]] = work.variable
        if work.method is Method.TOGGLE_ON:
            self._push(frame.origin, (Aftermath(work.variable, runs=True),))
        if work.method is not Method.PLACE:
            return
        self._push(frame.origin, (Aftermath(work.argument, runs=False),))
        origin = frame.origin
        is_composite = isinstance(origin, Invocation) and origin.method is Method.PICKUP_AND_PLACE
        if frame.is_stated or is_composite:
            self._bindings.put.add(entities[0])

    def _look_where_it_stands(self, situation: Situation) -> None:
        """Forgets what the agent stood at if others have moved it since its last step."""
        node = situation.facts.node(situation.agent)
        here = node.position_m if node is not None else None
        if self._has_moved or here is None or self._at_m is None:
            pass
        elif planar_m(here, self._at_m) > _MOVED_M:
            self._at = ""
        self._at_m, self._has_moved = here, False
