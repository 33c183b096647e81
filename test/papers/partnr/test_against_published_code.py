"""Mode partnr_v0 against PARTNR's own code, where there is a checkout of it.

    PLANNER_PARTNR_CODE=CHECKOUT pytest test/papers/partnr/test_against_published_code.py

Nothing is fetched. What that code once said of many cases is in `published_table.jsonl.gz`, which
test_published_table.py runs at every change.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from judged_atoms import atoms_as_geometry, judged
from published_cases import random_case
from published_code import VARIABLE, PublishedCode, why_absent

CASES = 10_000

pytestmark = pytest.mark.skipif(bool(why_absent()), reason=why_absent())


@pytest.fixture(scope="module")
def published_code() -> PublishedCode:
    return PublishedCode(Path(os.environ[VARIABLE]))


@pytest.mark.timeout(1800)
def test_random_traces_are_judged_as_by_the_published_code(published_code) -> None:
    different = []
    for seed in range(CASES):
        case = random_case(seed)
        theirs = published_code.outcome(case.document, case.worlds)
        with atoms_as_geometry():
            counted, first_steps, error = judged(case.document, case.worlds)
        ours = (tuple(counted), first_steps, bool(error))
        if ours != (theirs.counted, theirs.first_steps, bool(theirs.error)):
            different.append(seed)
    assert not different, f"{len(different)} of {CASES}, such as seed {different[0]}"
