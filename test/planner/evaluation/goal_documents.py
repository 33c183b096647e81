"""Evaluations as PARTNR's files have them."""

from __future__ import annotations


def on_top(objects, receptacles, **more):
    args = {"objects": objects, "receptacles": receptacles, **more}
    return {"function_name": "is_on_top", "args": args}


def after(gated, heads, relation="after_satisfied", **more):
    return {"proposition_indices": gated, "depends_on": heads, "relation_type": relation, **more}


def terminal(indices):
    return {"type": "TerminalSatisfactionConstraint", "proposition_indices": indices}


def task(propositions, dependencies=(), *constraints):
    return {
        "propositions": propositions,
        "dependencies": list(dependencies),
        "constraints": list(constraints),
    }
