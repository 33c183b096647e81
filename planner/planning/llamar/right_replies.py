"""The right reply of each role, and the same with one fault (LLAMAR-D80, LLAMAR-D81)."""

from __future__ import annotations

from random import Random

from planner.models.chat import ModelError
from planner.models.reference import Reader, ReferenceReply
from planner.planning.llamar.acting_role import ActingRole
from planner.planning.llamar.actor_role import ActorRole
from planner.planning.llamar.corrector_role import CorrectorRole
from planner.planning.llamar.planner_role import PlannerRole
from planner.planning.llamar.right_acting import actor_reply, corrector_reply, joint_reply
from planner.planning.llamar.right_actions import RightTeam
from planner.planning.llamar.right_lists import planner_reply, verifier_reply
from planner.planning.llamar.right_scene import scene_of
from planner.planning.llamar.role import PromptingRole
from planner.planning.llamar.state import Situation
from planner.planning.llamar.verifier_role import VerifierRole


async def right_reply(
    team: RightTeam,
    role: PromptingRole,
    situation: Situation,
    random: Random,
    reader: Reader,
) -> ReferenceReply:
    """The right reply of a role to a prompt, and its faulty versions.

    Args:
        team: knows what is right.
        role: of LLaMAR or its baselines.
        situation: of the prompt.
        random: chooses the agent, thing or subtask that a fault is about.
        reader: how the prompt is read.

    Raises:
        ModelError: without a goal, or for a role that is not known here.
    """
    scene = scene_of(team, role, situation, reader)
    match role:
        case ActingRole():
            return await joint_reply(scene, role, random)
        case ActorRole():
            return await actor_reply(scene, role, random)
        case CorrectorRole():
            return await corrector_reply(scene, role, random)
        case PlannerRole():
            return await planner_reply(scene, role, random)
        case VerifierRole():
            return await verifier_reply(scene, role, random)
        case _:
            raise ModelError(f"the model teacher knows no replies of {type(role).__name__}")
