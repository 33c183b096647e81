"""Our evaluator's predicates beside the relations of habitat-lab, on the same states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from planner.bench.parity_cli import (
    IN_ROOM,
    INSIDE,
    NEXT_TO,
    ON_FLOOR,
    ON_TOP,
    Agreement,
    GeometricJudge,
    compare_judges,
    judges_lines,
)
from planner.cli import main
from planner.evaluation.predicates import is_next_to
from planner.evaluation.scene import Scene
from planner.world.errors import PlannerError
from planner.world.geometry import Pose, Vec3
from planner.world.house import House, write_house
from planner.world.state import EntityState
from planner.world.vocabulary import EntityKind
from sim_bridge.backend import make_backend
from sim_bridge.embedded.backend import EmbeddedBackend
from sim_bridge.geometry import Ray
from sim_bridge.opening import bare_episode


@pytest.fixture
def embedded() -> Iterator[EmbeddedBackend]:
    backend = EmbeddedBackend()
    yield backend
    backend.close()


@dataclass
class Answers:
    """A geometry that says what a test wants; rays are asked in the order of the key points."""

    hits: Mapping[tuple[float, float, float], tuple[str, ...]] = field(default_factory=dict)
    off_m: float = 0.0
    floor_step_m: float = 0.0
    asked: list[Ray] = field(default_factory=list)

    def crossed(self, rays: Sequence[Ray], far_m: float) -> list[tuple[str, ...]]:
        self.asked += rays
        return [self.hits.get(ray.origin_m, ()) for ray in rays]

    def off_floor_m(self, x_m: float, y_m: float) -> float:
        return self.off_m


def thing(name: str, x: float, y: float, z: float = 0.0) -> EntityState:
    return EntityState(
        name=name,
        kind=EntityKind.OBJECT,
        class_name="box",
        instance_id=7,
        pose=Pose((x, y, z)),
        size_m=(0.2, 0.4, 0.2),
        parent=None,
        relation=None,
        room="kitchen_0",
    )


def judge(house: House, answers: Answers, *things: EntityState) -> GeometricJudge:
    return GeometricJudge(answers, Scene(house, {one.name: one for one in things}))


def raised(hits: Mapping[Vec3, tuple[str, ...]]) -> dict[Vec3, tuple[str, ...]]:
    """The same from 1 cm above."""
    return {(x, y, z + 0.01): hit for (x, y, z), hit in hits.items()}


def test_all_of_a_ray_counts_and_what_is_first_is_told_apart(small_house: House) -> None:
    made = judge(small_house, Answers(), thing("box_0", 1.0, 1.0, 0.5))
    middle, corner = made.key_points("box_0")[0], made.key_points("box_0")[1]
    assert middle == pytest.approx((1.0, 1.0, 0.6))
    assert corner == pytest.approx((0.9, 0.8, 0.5))
    assert len(made.key_points("box_0")) == 9
    hits = {middle: ("box_0", "book_0", "table_0"), corner: ("table_0", "box_0")}
    answers = Answers(hits | raised(hits))
    made = replace(made, source=answers)
    first, every = made.below("box_0")
    assert (first, every) == ({"book_0", "table_0"}, {"book_0", "table_0"})
    hits = {middle: ("box_0", "book_0", "table_0")}
    answers.hits = hits | raised(hits)
    assert made.below("box_0") == ({"book_0"}, {"book_0", "table_0"})
    assert all(ray.direction == (0.0, 0.0, -1.0) for ray in answers.asked)


def test_what_a_thing_sinks_into_is_first_below_it(small_house: House) -> None:
    made = judge(small_house, Answers(), thing("box_0", 1.0, 1.0, 0.5))
    corner = made.key_points("box_0")[1]
    # The corner is inside the board, so that its own ray only meets what lies in the drawer below.
    hits = {corner: ("cup_0",), (*corner[:2], corner[2] + 0.01): ("counter_0", "cup_0")}
    assert replace(made, source=Answers(hits)).below("box_0") == ({"counter_0"}, {"cup_0"})


def test_the_middle_between_walls_suffices_or_three_corners(small_house: House) -> None:
    made = judge(small_house, Answers(), thing("box_0", 1.0, 1.0, 0.5))
    middle, *corners = made.key_points("box_0")
    for points, within in (([middle], True), (corners[:2], False), (corners[:3], True)):
        answers = Answers(dict.fromkeys(points, ("box_0", "cabinet_0")))
        found = replace(made, source=answers).around("box_0")
        assert found == ({"cabinet_0"} if within else set())
        assert len(answers.asked) == 9 * 6


def test_one_of_two_opposite_rays_is_not_within(small_house: House) -> None:
    @dataclass
    class OneSided(Answers):
        def crossed(self, rays: Sequence[Ray], far_m: float) -> list[tuple[str, ...]]:
            assert far_m == 1.0
            return [("wall_unit_0",) if max(ray.direction) > 0 else () for ray in rays]

    made = judge(small_house, OneSided(), thing("box_0", 1.0, 1.0))
    assert made.around("box_0") == frozenset()


@pytest.mark.parametrize(
    ("z", "off_m", "step_m", "on"),
    [
        (0.039, 0.0, 0.0, True),
        (0.041, 0.0, 0.0, False),
        (0.06, 0.0, 0.05, True),
        (0.0, 0.09, 0.0, True),
        (0.0, 0.2, 0.0, False),
    ],
)
def test_a_thing_is_on_the_floor_by_the_floor_nearest_to_its_middle(
    small_house: House, z: float, off_m: float, step_m: float, on: bool
) -> None:
    answers = Answers(off_m=off_m, floor_step_m=step_m)
    assert judge(small_house, answers, thing("box_0", 1.0, 1.0, z)).on_floor("box_0") is on


def test_nearness_is_from_middle_to_middle_less_an_ellipse(small_house: House) -> None:
    near = judge(small_house, Answers(), thing("a", 1.0, 1.0), thing("b", 1.7, 1.0))
    assert near.next_to("a", "b"), "0.7 m less 0.1 m on either side"
    apart = judge(small_house, Answers(), thing("a", 1.0, 1.0), thing("b", 1.71, 1.0))
    assert not apart.next_to("a", "b")
    # Corner to corner the boxes are nearer than the ellipses in them.
    diagonal = (thing("a", 1.0, 1.0), thing("b", 1.5, 1.7))
    by_geometry = judge(small_house, Answers(), *diagonal)
    assert is_next_to(by_geometry.scene, "a", "b")
    assert not by_geometry.next_to("a", "b")
    above = judge(small_house, Answers(), thing("a", 1.0, 1.0), thing("b", 1.0, 1.0, 0.29))
    assert above.next_to("a", "b"), "0.1 m of height is spared"
    assert not is_next_to(above.scene, "a", "b")
    far_above = judge(small_house, Answers(), thing("a", 1.0, 1.0), thing("b", 1.0, 1.0, 0.31))
    assert not far_above.next_to("a", "b")


def test_agreement_counts_where_either_says_yes() -> None:
    row = Agreement()
    assert row.share == 1.0
    for number, (ours, geometry) in enumerate(
        [(True, True), (False, False), (True, False), (False, True), (False, True)]
    ):
        row.add(f"cup_{number}", ours, geometry)
    assert (row.both, row.neither, row.only_ours, row.only_geometry) == (1, 1, 1, 2)
    assert row.share == 0.25
    assert row.differing == {"cup_2": "ours", "cup_3": "geometry", "cup_4": "geometry"}


@pytest.mark.slow
def test_the_embedded_world_agrees_where_the_rules_do(
    small_house: House, embedded: EmbeddedBackend
) -> None:
    parity = compare_judges(embedded, small_house, 3)
    assert (parity.house, parity.things) == ("small", 3)
    assert parity.states > 3, "after each pick, place, open and close"
    for name in (ON_TOP, IN_ROOM, ON_FLOOR):
        assert parity.rows[name].share == 1.0, (name, parity.rows[name].differing)
    assert parity.rows[ON_TOP].both >= 2 * parity.states
    assert parity.rows[IN_ROOM].both == 3 * parity.states
    assert parity.rows[NEXT_TO].both > 0
    assert parity.rows[ON_FLOOR].both > 0, "things are laid on the floor"
    assert parity.rows[INSIDE].both > 0, "and into furniture"
    table = "\n".join(judges_lines(parity, "embedded"))
    assert f"small on embedded: {parity.states} states, 3 things" in table
    assert "is_on_top, all on a ray" in table


@pytest.mark.slow
def test_the_command_prints_a_table_for_each_simulator(
    small_house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.json"
    write_house(small_house, path)
    words = ["bench", "parity", "--judges", "--a", "embedded", "--b", "embedded", str(path)]
    assert main(words) == 0
    out = capsys.readouterr().out
    assert out.count("small on embedded") == 1, "equal simulators are asked once"


@pytest.mark.slow
def test_each_simulator_has_settings_of_its_own(
    small_house: House, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    house, settings = tmp_path / "small.json", tmp_path / "embedded.yaml"
    write_house(small_house, house)
    settings.write_text("version: 1\nrenderer: none\n")
    words = ["bench", "parity", "--judges", "--b", "embedded", str(house)]
    assert main([*words, "--b-config", str(settings)]) == 0
    out = capsys.readouterr().out
    assert out.count("small on embedded") == 2, "one with other settings is another one"
    settings.write_text("version: 1\nrenderer: crayon\n")
    for pixels in ([], ["--judges"]):
        words = ["bench", "parity", *pixels, "--b", "embedded", str(house)]
        assert main([*words, "--b-config", str(settings)]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert f"{settings}: renderer" in line


def test_a_world_without_geometry_is_refused(
    small_house: House, capsys: pytest.CaptureFixture[str]
) -> None:
    backend = make_backend("graph")
    with pytest.raises(PlannerError, match="geometry cannot be asked"):
        compare_judges(backend, small_house, 3)
    backend.close()
    words = ["bench", "parity", "--judges", "--a", "graph", "--b", "embedded", "train_0"]
    assert main(words) == 2
    assert "--judges: the geometry of graph cannot be asked" in capsys.readouterr().err


def test_rays_enter_bodies_in_order(small_house: House, embedded: EmbeddedBackend) -> None:
    embedded.reset(small_house, bare_episode(small_house, 1), 3)
    state = embedded.world_state()
    assert state is not None
    x, y, z = state.entities["cup_0"].box.center_m
    above = Ray((x, y, z + 1.0), (0.0, 0.0, -1.0))
    (hit,) = embedded.crossed([above], 100.0)
    assert hit == ("cup_0", "table_0")
    assert embedded.crossed([above], 0.5) == [()]
    within = Ray((x, y, z), (0.0, 0.0, -1.0))
    assert "table_0" in embedded.crossed([within], 100.0)[0]
    upwards = Ray((x, y, z + 1.0), (0.0, 0.0, 1.0))
    assert embedded.crossed([upwards], 100.0) == [()]
    assert embedded.off_floor_m(1.5, 2.0) == 0.0
    assert 0.1 < embedded.off_floor_m(0.0, 2.0) < 0.5, "a robot's middle is not at the wall"
