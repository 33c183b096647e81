"""The personal routines, taught and asked for again, with the program memory alone."""

from __future__ import annotations

from collections import Counter

from papers.helper.program_change import Rebound, nearest_rebound
from papers.helper.program_memory import ProgramMemory
from papers.helper.program_store import ProgramRecord, RecordKind
from papers.helper.programs.program import program_text
from papers.helper.routine_plans import right_plan, score_plan
from papers.helper.teach.tasks import read_routines, routine_file


def test_what_was_taught_is_repeated_with_its_changes() -> None:
    """Right plans of the ten routines by the number of changes, from none to three."""
    routines = read_routines(routine_file())
    right: Counter[int] = Counter()
    with ProgramMemory.open(None) as memory:
        for routine in routines:
            program = program_text(right_plan(routine.wanted(0)))
            said = routine.lesson.text
            memory.add(ProgramRecord(0, RecordKind.PLAN, said, program, confirmed=True))
        for routine in routines:
            for changes in range(4):
                found = nearest_rebound(memory, routine.request(changes).text)
                if isinstance(found, Rebound):
                    score = score_plan(found.program, routine.wanted(changes))
                    right[changes] += score.is_right
    assert len(routines) == 10
    assert right == {0: 10, 1: 10, 2: 10, 3: 10}


def test_what_was_not_taught_is_not_made_up() -> None:
    with ProgramMemory.open(None) as memory:
        for routine in read_routines(routine_file()):
            found = nearest_rebound(memory, routine.request(0).text)
            assert not isinstance(found, Rebound), routine.name
