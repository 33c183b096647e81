"""What agents do, in words."""

from __future__ import annotations

import pytest

from planner.planning.expert.job import Job
from planner.world.vocabulary import Relation


@pytest.mark.parametrize(
    ("job", "words"),
    [
        (Job("lamp_0", "PowerOff", 0), "power off lamp_0"),
        (Job("napkin_0", "Dust", 0, beside="vase_0"), "dust vase_0 with napkin_0"),
        (Job("kettle_0", "Pour", 0, beside="cup_0"), "pour what is in kettle_0 into cup_0"),
        (
            Job("cup_0", "Place", 0, (Relation.ON, "table_0"), beside="plate_0"),
            "bring cup_0 onto table_0 next to plate_0",
        ),
    ],
)
def test_a_job_is_said_as_a_person_would(job: Job, words: str) -> None:
    assert str(job) == words
