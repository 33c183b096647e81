import numpy as np

from planner.memory.maps.frontiers import FrontierOptions, FrontierSearch
from planner.world.floor_map import FREE, OCCUPIED, UNKNOWN, FloorMap

CELL_M = 0.05
HERE = (1.0, 1.0, 0.0)


def room(width: int = 60, height: int = 60) -> np.ndarray:
    """An explored room with walls, in the middle of what is unknown."""
    cells = np.full((height + 40, width + 40), UNKNOWN, np.int8)
    cells[10 : height + 10, 10 : width + 10] = OCCUPIED
    cells[11 : height + 9, 11 : width + 9] = FREE
    return cells


def search(cells: np.ndarray, **options: float) -> FrontierSearch:
    return FrontierSearch(0.28, FrontierOptions(**options))


def left(cells: np.ndarray, searching: FrontierSearch):
    return searching.of(FloorMap(cells, (0.0, 0.0), CELL_M), HERE)


def test_behind_closed_walls_nothing_is_left() -> None:
    cells = room()
    assert left(cells, search(cells)).cells == 0


def test_a_door_leads_to_what_is_left() -> None:
    cells = room()
    # Open from 1.5 to 2.4 m.
    cells[30:48, 69] = FREE
    found = left(cells, search(cells))
    assert found.cells > 1000
    (frontier,) = found.frontiers
    assert frontier.middle_m[0] > 3.4
    assert 3.3 < frontier.stand_m[0] < frontier.middle_m[0]
    assert 1.5 < frontier.stand_m[1] < 2.4
    assert frontier.way_m > 2.0


def test_a_gap_that_is_too_narrow_for_the_body_leads_nowhere() -> None:
    cells = room()
    cells[30:39, 69] = FREE
    assert left(cells, search(cells)).frontiers == ()


def test_unexplored_cells_beside_a_wall_are_no_place_to_stand() -> None:
    cells = room()
    cells[11:13, 11:69] = UNKNOWN
    assert left(cells, search(cells)).cells == 0


def test_few_unexplored_cells_end_exploring() -> None:
    cells = room()
    cells[40:46, 40:46] = UNKNOWN
    assert left(cells, search(cells, enough_cells=36)).frontiers != ()
    found = left(cells, search(cells, enough_cells=37))
    assert (found.cells, found.frontiers) == (36, ())


def test_a_place_gone_to_in_vain_is_not_gone_to_again() -> None:
    cells = room()
    cells[40:46, 40:46] = UNKNOWN
    searching = search(cells, enough_cells=10)
    (frontier,) = left(cells, searching).frontiers
    searching.give_up(frontier)
    assert left(cells, searching).frontiers == ()


def test_the_nearest_of_equal_frontiers_comes_first() -> None:
    cells = room(120, 60)
    cells[35:45, 40:50] = UNKNOWN
    cells[35:45, 100:110] = UNKNOWN
    first, second = left(cells, search(cells)).frontiers
    assert first.stand_m[0] < second.stand_m[0]
    assert first.way_m < second.way_m


def test_a_body_that_stands_nowhere_finds_nothing() -> None:
    cells = np.full((80, 80), UNKNOWN, np.int8)
    assert left(cells, search(cells)).frontiers == ()
