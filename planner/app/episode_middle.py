"""The middle of an episode: a state of its run by the expert, and the calls until then."""

from __future__ import annotations

from planner.app.embedded_run import prepare_embedded
from planner.app.run_options import RunOptions
from planner.episodes.teach.middle import Moment
from planner.planning.expert.expert import Expert
from planner.planning.session_world import Event
from planner.world.episode import Episode
from planner.world.errors import PlannerError
from planner.world.house import House
from planner.world.skill import SkillName
from planner.world.state import EntityState, WorldState
from planner.world.vocabulary import EntityKind
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.embedded.options import EmbeddedOptions


def middle_of(episode: Episode, house: House) -> Moment:
    """The state that is nearest to half of the calls, after something was changed.

    Raises:
        PlannerError: if the expert does not solve the episode, or there is no such state.
    """
    backend = EmbeddedBackend(EmbeddedOptions(renderer="none"))
    calls: list[str] = []
    moments: list[Moment] = []
    first: list[WorldState] = []

    def note(event: Event) -> None:
        state = backend.world_state()
        if state is None:
            return
        if not first:
            first.append(state)
        if event.result is None or not event.result.succeeded or event.call.name == SkillName.DONE:
            return
        calls.append(str(event.call))
        if _hands_are_empty(state) and _is_changed(state, first[0]):
            moments.append(Moment(state, tuple(calls)))

    try:
        run = prepare_embedded(
            backend, house, episode, Expert, RunOptions(images=False, on_event=note)
        )
        result = run.run()
    finally:
        backend.close()
    if not result.verdict.success:
        raise PlannerError(f"{episode.episode_id}: the expert does not solve it")
    before_end = [moment for moment in moments if len(moment.calls) < len(calls)]
    if not before_end:
        raise PlannerError(f"{episode.episode_id}: it has no middle with empty hands")
    return min(before_end, key=lambda moment: abs(2 * len(moment.calls) - len(calls)))


def _hands_are_empty(state: WorldState) -> bool:
    agents = {e.name for e in state.entities.values() if e.kind is EntityKind.AGENT}
    return not any(thing.parent in agents for thing in _things(state))


def _is_changed(state: WorldState, first: WorldState) -> bool:
    """Whether any thing has another state or place, or is new."""
    before = {thing.name: _standing(thing) for thing in _things(first)}
    return {thing.name: _standing(thing) for thing in _things(state)} != before


def _standing(thing: EntityState) -> tuple[str | None, dict[str, object]]:
    return thing.parent, dict(thing.states or {})


def _things(state: WorldState) -> list[EntityState]:
    return [e for e in state.entities.values() if e.kind is EntityKind.OBJECT]
