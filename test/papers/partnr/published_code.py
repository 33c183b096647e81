"""PARTNR's own evaluation code as an oracle, from a checkout that somebody else has put there.

`PLANNER_PARTNR_CODE` names the root of a checkout of facebookresearch/partnr-planner (MIT). Its
predicates, constraints and measures run unchanged. What they import of simulators is replaced:
types by nothing, and the questions of geometry by a look into the atoms of a world.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from published_cases import Atom, Document, names_in

from planner.evaluation.task import Predicate, Proposition, predicate_named
from planner.world.states import default_states

VARIABLE = "PLANNER_PARTNR_CODE"
_PACKAGE = "habitat_llm.agent.env.evaluation"
_OURS_TO_THEIRS = {
    "objects": "object_handles",
    "receptacles": "receptacle_handles",
    "rooms": "room_ids",
    "entities_a": "entity_handles_a",
    "entities_b": "entity_handles_b",
}
_SAME = {
    Predicate.IS_ON_TOP: "is_same_receptacle",
    Predicate.IS_INSIDE: "is_same_receptacle",
    Predicate.IS_IN_ROOM: "is_same_room",
    Predicate.IS_NEXT_TO: "is_same_b",
}


def why_absent() -> str:
    """Why the oracle cannot be used; "" where it can."""
    root = os.environ.get(VARIABLE, "")
    if not root:
        return f"{VARIABLE} names no checkout of facebookresearch/partnr-planner"
    if importlib.util.find_spec("networkx") is None:
        return "the published code needs networkx"
    return "" if (Path(root) / "habitat_llm").is_dir() else f"{root} has no folder habitat_llm"


@dataclass(frozen=True)
class Outcome:
    """What the published code says after each step, and its first steps (-1 = never).

    `counted` has for each step which propositions count; it ends with the step before the code
    failed, `error` says how.
    """

    counted: tuple[tuple[bool, ...], ...]
    percent: tuple[float, ...]
    first_steps: tuple[int, ...]
    error: str


class PublishedCode:
    """The modules of a checkout."""

    def __init__(self, root: Path) -> None:
        # Before the stubs are in place, since all that is imported beside them is forgotten.
        for library in ("networkx", "numpy"):
            importlib.import_module(library)
        stubs = _simulator_stubs()
        folder = root / "habitat_llm" / "agent" / "env"
        with patch.dict(sys.modules, stubs):
            self._predicates = _load(f"{_PACKAGE}.predicate_wrappers", folder / "evaluation")
            self._functions = _load(f"{_PACKAGE}.evaluation_functions", folder / "evaluation")
            self._measures = _load("habitat_llm.agent.env.measures", folder)

    def outcome(self, document: Document, worlds: Sequence[frozenset[Atom]]) -> Outcome:
        """Judges a task step by step, in the way of a run of the published benchmark."""
        sim = _Sim(names_in(document))
        tracker = self._measures.AutoEvalPropositionTracker(sim=sim, config=None)
        validation = self._measures.TaskConstraintValidation(config=None)
        percent = self._measures.TaskPercentComplete(config=None)
        task = SimpleNamespace(
            measurements=SimpleNamespace(
                check_measure_dependencies=lambda *_: None,
                measures={m.cls_uuid: m for m in (tracker, validation, percent)},
            )
        )
        counted, shares, error = [], [], ""
        for step, world in enumerate(worlds):
            sim.world = world
            try:
                with warnings.catch_warnings(action="ignore"):
                    if step == 0:
                        tracker.reset_metric(episode=self._episode(document), task=task)
                    else:
                        tracker.update_metric(task=task)
                validation.update_metric(task=task)
            except ValueError as failure:
                error = str(failure)
                break
            percent.update_metric(task=task)
            first_steps = tracker.get_metric()["proposition_satisfied_at"]
            valid = [all(column) for column in zip(*validation.get_metric(), strict=True)]
            valid = valid or [True] * len(first_steps)
            counted.append(
                tuple(f != -1 and bool(v) for f, v in zip(first_steps, valid, strict=True))
            )
            shares.append(float(percent.get_metric()))
        firsts = tuple(tracker.get_metric()["proposition_satisfied_at"])
        return Outcome(tuple(counted), tuple(shares), firsts, error)

    def _episode(self, document: Document) -> SimpleNamespace:
        functions = self._functions
        return SimpleNamespace(
            evaluation_propositions=[
                functions.EvaluationProposition(entry["function_name"], _arguments(entry))
                for entry in document["propositions"]
            ],
            evaluation_proposition_dependencies=[
                functions.EvaluationPropositionDependency(**dependency)
                for dependency in document["dependencies"]
            ],
            evaluation_constraints=[
                self._constraint(entry, document) for entry in document["constraints"]
            ],
        )

    def _constraint(self, entry: Document, document: Document) -> Any:
        count = len(document["propositions"])
        made = getattr(self._functions, entry["type"])
        if entry["type"] == "TemporalConstraint":
            edges = [(i, j) for i, j in entry["edges"]]
            return made(dag_edges=edges, n_propositions=count)
        indices = list(entry["proposition_indices"])
        if entry["type"] == "TerminalSatisfactionConstraint":
            return made(proposition_indices=indices, n_propositions=count)
        names = [
            _argument_name(document["propositions"][i], k)
            for i, k in zip(indices, entry["arg_indices"], strict=True)
        ]
        return made(proposition_indices=indices, arg_names=names, n_propositions=count)


def _arguments(entry: Document) -> dict[str, Any]:
    predicate, args = predicate_named(entry["function_name"]), dict(entry["args"])
    if predicate is Predicate.IS_CLUSTERED:
        lists = args["entities"]
        return {"*args": [list(names) for names in lists], "number": [1] * len(lists)}
    same = args.pop("is_same_b", False)
    found = {_OURS_TO_THEIRS.get(name, name): value for name, value in args.items()}
    return {**found, _SAME[predicate]: same} if predicate in _SAME else found


def _argument_name(entry: Document, k: int) -> str:
    predicate = predicate_named(entry["function_name"])
    lists = entry["args"]["entities"] if predicate is Predicate.IS_CLUSTERED else ()
    name = Proposition(predicate, tuple(lists)).argument_names[k]
    return _OURS_TO_THEIRS.get(name, name)


class _Sim:
    """A world of atoms in the place of a simulator; every name may be a region's."""

    _largest_indoor_island_idx = 0

    def __init__(self, names: set[str]) -> None:
        self.world: frozenset[Atom] = frozenset()
        self._names = names
        self.object_state_machine = self
        self.semantic_scene = SimpleNamespace(
            regions=[SimpleNamespace(id=name) for name in sorted(names)]
        )

    def get_snapshot_dict(self, _sim: _Sim) -> dict[str, dict[str, bool]]:
        """The states of all things."""
        return {
            f"is_{state}": {name: (state, name) in self.world for name in self._names}
            for state in default_states().defaults
        }


def _load(name: str, folder: Path) -> ModuleType:
    path = folder / f"{name.rsplit('.', 1)[1]}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class _Measure:
    """What the published measures need of their base."""

    def __init__(self, *_args: object, **_more: object) -> None:
        self._metric: Any = None

    def get_metric(self) -> Any:
        return self._metric


def _simulator_stubs() -> dict[str, ModuleType]:
    names: dict[str, dict[str, Any]] = {
        "habitat": {},
        "habitat.config": {},
        "habitat.config.default_structured_configs": {"MeasurementConfig": object},
        "habitat.core": {},
        "habitat.core.embodied_task": {"EmbodiedTask": object, "Measure": _Measure},
        "habitat.core.registry": {
            "registry": SimpleNamespace(register_measure=lambda measure: measure)
        },
        "habitat.core.simulator": {"Simulator": object},
        "habitat.sims": {},
        "habitat.sims.habitat_simulator": {},
        "habitat.sims.habitat_simulator.sim_utilities": _GEOMETRY,
        "habitat_sim": {},
        "habitat_sim.physics": {"ManagedArticulatedObject": object, "ManagedRigidObject": object},
        "habitat_sim.scene": {"SemanticRegion": object},
        "habitat_llm": {},
        "habitat_llm.agent": {},
        "habitat_llm.agent.env": {},
        "habitat_llm.agent.env.dataset": {"CollaborationEpisode": object},
        _PACKAGE: {},
        f"{_PACKAGE}.failure_explanations": {"derive_evaluation_explanation": None},
        "habitat_llm.sims": {},
        "habitat_llm.sims.collaboration_sim": {"CollaborationSim": object},
        "habitat_llm.sims.metadata_interface": {
            "MetadataInterface": object,
            "get_metadata_dict_from_config": None,
        },
    }
    made: dict[str, ModuleType] = {}
    for name, members in names.items():
        module = types.ModuleType(name)
        module.__path__ = []
        vars(module).update(members)
        made[name] = module
        parent, _, child = name.rpartition(".")
        if parent in made:
            setattr(made[parent], child, module)
    return made


def _entity(_sim: _Sim, name: str, _links: object = None) -> SimpleNamespace:
    return SimpleNamespace(handle=name, object_id=name)


def _second_of(predicate: Predicate) -> Any:
    def found(sim: _Sim, entity: SimpleNamespace, *_more: object) -> list[str]:
        return [atom[2] for atom in sim.world if atom[:2] == (predicate.value, entity.handle)]

    return found


def _object_in_region(
    sim: _Sim, entity: SimpleNamespace, region: SimpleNamespace, **_more: object
) -> tuple[bool, float]:
    return (Predicate.IS_IN_ROOM.value, entity.handle, region.id) in sim.world, 1.0


def _obj_next_to(sim: _Sim, object_id_a: str, object_id_b: str, **_more: object) -> bool:
    pair = sorted((object_id_a, object_id_b))
    return (Predicate.IS_NEXT_TO.value, *pair) in sim.world


_GEOMETRY = {
    "above": _second_of(Predicate.IS_ON_TOP),
    "within": _second_of(Predicate.IS_INSIDE),
    "get_obj_from_handle": _entity,
    "get_obj_from_id": _entity,
    "get_ao_link_id_map": lambda _sim: {},
    "object_in_region": _object_in_region,
    "obj_next_to": _obj_next_to,
    "on_floor": lambda sim, entity, **_more: ("floor", entity.handle) in sim.world,
}
