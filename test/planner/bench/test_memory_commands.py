"""The commands of docs/memory_models.md, as small as they get."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from planner.app.views import ViewRecipe, _recolored, _strewn, make_views, training_house
from planner.bench.memory_bench import move_things
from planner.cli import main
from planner.houses.clutter import scatter
from planner.houses.generator import recipes
from planner.memory.learned.segments import read_model_file
from planner.training.frames import read_frames, read_manifest
from planner.world.catalogue import default_catalogue
from planner.world.house_checks import load_house


@pytest.mark.slow
def test_views_are_made_and_a_second_call_makes_none_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "memory-views", str(tmp_path), "--houses", "1", "--strewings", "1"]
    words += ["--into-open", "0.3", "--places", "3", "--recolored", "0.25"]
    assert main([*words, "--views", "4"]) == 0
    assert "4 frames in 1 shards" in capsys.readouterr().out
    frames = read_frames(tmp_path)
    assert [f.record.house for f in frames] == ["train_0"] * 4
    for frame in frames:
        camera = frame.camera()
        shown = set(np.unique(camera.instances).tolist())
        assert {t.instance for t in frame.record.things} <= shown
    before = (tmp_path / "shard-00000" / "000000.rgb.png").stat().st_mtime_ns
    assert main([*words, "--views", "4"]) == 0
    assert (tmp_path / "shard-00000" / "000000.rgb.png").stat().st_mtime_ns == before
    manifest = read_manifest(tmp_path)
    assert sum(manifest.counts.values()) == sum(len(f.record.things) for f in frames)


@pytest.mark.slow
def test_the_same_seed_shows_the_same(tmp_path: Path) -> None:
    recipe = ViewRecipe(seed=5, houses=1, strewings=1, views=2)
    for name in ("a", "b"):
        make_views(tmp_path / name, recipe)
    a, b = (read_frames(tmp_path / name) for name in ("a", "b"))
    assert [f.record for f in a] == [f.record for f in b]
    np.testing.assert_array_equal(a[1].camera().rgb, b[1].camera().rgb)


@pytest.mark.slow
def test_views_are_taken_by_sensors_that_err(tmp_path: Path) -> None:
    recipe = ViewRecipe(seed=5, houses=1, strewings=1, views=1)
    make_views(tmp_path / "true", recipe)
    make_views(tmp_path / "erring", replace(recipe, sensors="consumer_rgbd"))
    (true,), (erring,) = (read_frames(tmp_path / name) for name in ("true", "erring"))
    assert erring.record == true.record
    assert not np.array_equal(erring.camera().rgb, true.camera().rgb)
    assert (erring.camera().depth_m == 0).mean() > (true.camera().depth_m == 0).mean()


@pytest.mark.slow
def test_views_into_open_furniture_show_what_is_in_it_from_several_places(tmp_path: Path) -> None:
    into = ViewRecipe(seed=3, houses=1, strewings=1, views=12, into_open_share=1.0, places=3)
    manifest = make_views(tmp_path / "a", into)
    assert (manifest.recipe["into_open_share"], manifest.recipe["places"]) == (1.0, 3)
    frames = read_frames(tmp_path / "a")
    interiors = {
        piece.name
        for piece in load_house("train_0").furniture
        if any(i.joint is not None for i in piece.interiors)
    }
    showing = [f for f in frames if any(t.parent in interiors for t in f.record.things)]
    assert len(showing) >= 9
    for start in range(0, 12, 3):
        stood = [f.record.position_m[:2] for f in frames[start : start + 3]]
        apart = [math.dist(a, b) for k, a in enumerate(stood) for b in stood[:k]]
        assert min(apart) > 0.2
    make_views(tmp_path / "b", into)
    for one, other in zip(frames, read_frames(tmp_path / "b"), strict=True):
        assert one.record == other.record


@pytest.mark.parametrize("option", ["--into-open", "--recolored"])
@pytest.mark.parametrize("share", ["-0.1", "1.5", "nan"])
def test_a_share_of_views_is_between_0_and_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], option: str, share: str
) -> None:
    words = ["train", "memory-views", str(tmp_path), "--houses", "1", option, share]
    assert main(words) != 0
    assert f"{option} is a share between 0 and 1" in capsys.readouterr().err


@pytest.mark.slow
def test_even_views_show_each_class_as_often() -> None:
    house = load_house("train_0")
    strewn = [
        o.class_name
        for turn in range(2)
        for o in _strewn(house, ViewRecipe(even=True), np.random.default_rng(turn))
    ]
    assert max(strewn.count(name) for name in strewn) <= 2
    assert len(set(strewn)) > 120
    likely = scatter(house, 140, np.random.default_rng(0))
    assert max(Counter(o.class_name for o in likely).values()) > 2


def test_a_share_of_things_is_recolored_and_nothing_else_changes() -> None:
    strewn = scatter(load_house("train_0"), 140, np.random.default_rng(1))
    objects = default_catalogue().objects
    colored = [o for o in strewn if objects[o.class_name].colors]
    assert len(colored) > 20
    some = _recolored(strewn, 0.5, np.random.default_rng(1))
    # As 1 is drawn for all that have other colours, and 0 for none.
    every = _recolored(strewn, 1.0, np.random.default_rng(1))
    assert _recolored(strewn, 0.0, np.random.default_rng(1)) == strewn
    assert all(
        o.color in objects[o.class_name].colors for o in every if objects[o.class_name].colors
    )
    changed = sum(a.color != b.color for a, b in zip(strewn, some, strict=True))
    assert 0 < changed < len(colored)
    for before, after in zip(strewn, some, strict=True):
        assert after.model_copy(update={"color": before.color}) == before


@pytest.mark.slow
def test_no_held_out_house_is_trained_on() -> None:
    heldout = {r.name: r.seed for r in recipes() if r.split == "heldout"}
    shipped = [training_house(index, 1) for index in range(9)]
    assert not {h.name for h in shipped} & set(heldout)
    assert not {h.seed for h in shipped} & set(heldout.values())


def test_some_things_are_moved_and_none_is_lost() -> None:
    house = load_house("train_0")
    moved = move_things(house, np.random.default_rng(1))
    assert {o.name for o in moved.objects} == {o.name for o in house.objects}
    before = {o.name: o.pose for o in house.objects}
    changed = [o for o in moved.objects if o.pose != before[o.name]]
    assert 0 < len(changed) <= 0.2 * len(house.objects) + 1


@pytest.mark.slow
def test_memories_are_scored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores, curves = tmp_path / "scores.json", tmp_path / "curves.png"
    words = ["bench", "memory", "train_0", "--updater", "learned", "--once", "--rooms-only"]
    assert main([*words, "--json", str(scores), "--curves", str(curves)]) == 0
    assert "recall_seen" in capsys.readouterr().out
    summary = json.loads(scores.read_text())["summary"]
    assert summary["privileged"]["precision"]["mean"] == 1.0
    assert summary["learned"]["precision"]["mean"] > 0.5
    assert curves.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_conversations_are_made_of_a_rollout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", "memory-data", str(tmp_path), "--episode", "fruit_0"]
    assert main(words) == 0
    assert "samples" in capsys.readouterr().out
    counts = read_manifest(tmp_path).counts
    assert counts["none"] == counts["update"] == counts["add"] > 0
    said = (tmp_path / "shard-00000" / "samples.jsonl").read_text()
    assert " picked" in said
    assert " placed" in said


@pytest.mark.slow
def test_a_model_is_trained_and_training_continues_where_it_was_stopped(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="training needs the extra train")
    views, out = tmp_path / "views", tmp_path / "model"
    make_views(views, ViewRecipe(houses=1, strewings=1, views=12))
    words = ["train", "memory-model", str(views), str(out), "--batch", "4", "--looked-at", "4"]
    assert main([*words, "--steps", "3"]) == 0
    assert (out / "memory.safetensors").is_file()
    # Another recipe than the checkpoint's is refused; the same one has nothing left to do.
    assert main([*words, "--steps", "4"]) == 2
    assert main([*words, "--steps", "3"]) == 0
    # A second training starts from the network of the first and learns from further views too.
    again, even = tmp_path / "again", tmp_path / "even"
    make_views(even, ViewRecipe(houses=1, strewings=1, views=4, even=True))
    words = ["train", "memory-model", str(views), str(again), "--batch", "4", "--looked-at", "4"]
    words += ["--more", str(even), "--start", str(out), "--steps", "2", "--rate", "1.5e-3"]
    assert main(words) == 0
    notes = read_model_file(again / "memory.safetensors").notes
    assert (notes["frames"], notes["more_frames"], notes["start"]) == ("12", "4", "model")
    assert main([*words, "--start", str(even)]) == 2
