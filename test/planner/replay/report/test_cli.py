"""`planner report`: where it writes, what it prints, what it refuses."""

from __future__ import annotations

import pytest

from planner.cli import main


def report(capsys, *words) -> tuple[int, str, str]:
    status = main(["report", *map(str, words)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_bag_s_report_lies_beside_it(film, capsys) -> None:
    film.solved()
    bag = film.everything("bag").close()
    status, out, err = report(capsys, bag)
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "bag: success, 100% of the task, 20 steps, judged from the bag",
        f"report: {film.folder / 'report' / 'report.html'}",
    ]
    names = {p.name for p in (film.folder / "report").iterdir()}
    assert names == {"report.html", "report.json", "tables"}
    assert (film.folder / "report" / "tables" / "propositions.csv").is_file()
    assert (film.folder / "report" / "tables" / "propositions.parquet").is_file()


@pytest.mark.slow
def test_the_same_bag_gives_the_same_bytes(film, capsys, tmp_path) -> None:
    film.solved()
    bag = film.everything("bag").close()
    for name in ("one", "two"):
        report(capsys, bag, "-o", tmp_path / name)
    files = sorted(p.relative_to(tmp_path / "one") for p in (tmp_path / "one").rglob("*.*"))
    assert len(files) > 5
    for file in files:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    assert str(tmp_path) not in page
    assert str(tmp_path) not in (tmp_path / "one" / "report.json").read_text("utf-8")


def test_a_bag_is_not_touched(film, capsys) -> None:
    film.solved()
    bag = film.everything("bag").cut()
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in bag.iterdir()}
    status, out, _ = report(capsys, bag)
    assert (status, "bag: success" in out) == (0, True)
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in bag.iterdir()} == before


@pytest.mark.slow
def test_it_is_written_again_where_a_report_was(film, capsys) -> None:
    film.solved()
    bag = film.everything("bag").close()
    assert report(capsys, bag)[0] == 0
    assert report(capsys, bag)[0] == 0


def test_nothing_else_is_written_over(film, capsys, tmp_path) -> None:
    bag = film.everything("bag").close()
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    status, _, err = report(capsys, bag, "-o", other)
    assert status == 2
    assert "holds something that is not a report" in err
    assert report(capsys, bag, "-o", other, "--force")[0] == 0
    assert (other / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("inside", [".", "report"])
def test_nothing_is_written_into_a_bag(film, capsys, inside) -> None:
    bag = film.everything("bag").close()
    before = sorted(bag.iterdir())
    status, _, err = report(capsys, bag, "-o", bag / inside, "--force")
    assert status == 2
    assert "is in the bag" in err
    assert sorted(bag.iterdir()) == before


def test_nothing_is_written_into_another_bag(film, capsys, tmp_path) -> None:
    bag = film.everything("bag").close()
    other = tmp_path / "other"
    other.mkdir()
    (other / "metadata.yaml").write_text("rosbag2_bagfile_information: {}")
    status, _, err = report(capsys, bag, "-o", other / "report", "--force")
    assert (status, "is in the bag" in err) == (2, True)


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_report_whole(film, capsys, monkeypatch) -> None:
    bag = film.everything("bag").close()
    assert report(capsys, bag)[0] == 0
    page = film.folder / "report" / "report.html"
    before = page.read_bytes()

    def full(self, *_, **__) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    status, _, err = report(capsys, bag)
    assert (status, "No space left" in err) == (2, True)
    assert page.read_bytes() == before
    assert not list(page.parent.glob("*.part"))


@pytest.mark.slow
def test_several_bags_and_one_that_cannot_be_read(film, capsys, tmp_path) -> None:
    film.solved()
    one = film.everything("runs/one/bag").close()
    two = film.everything("runs/two/bag").close()
    broken = tmp_path / "runs" / "three" / "bag"
    broken.mkdir(parents=True)
    (broken / "x.mcap").write_bytes(b"nothing")
    status, out, err = report(capsys, one, two, broken, "-o", tmp_path / "out")
    assert status == 2
    assert [line.split(":")[0] for line in out.splitlines()] == ["one/bag", "two/bag", "report"]
    assert err.count("error:") == 1
    assert "x.mcap" in err


@pytest.mark.slow
def test_a_folder_of_bags_is_all_of_them(film, capsys, tmp_path) -> None:
    film.solved()
    film.everything("runs/one").close()
    film.everything("runs/two").close()
    status, out, _ = report(capsys, tmp_path / "runs", "-o", tmp_path / "out")
    assert (status, out.count("success")) == (0, 2)


def test_no_bag_at_all_is_one_error(tmp_path, capsys) -> None:
    status, out, err = report(capsys, tmp_path / "nowhere")
    assert (status, out) == (2, "")
    assert err.startswith("error: ")


def test_without_the_library_parquet_is_left_out_and_said(film, capsys, monkeypatch) -> None:
    monkeypatch.setattr("planner.replay.report.cli.has_parquet", lambda: False)
    status, _, err = report(capsys, film.everything("bag").close())
    assert status == 0
    assert err == "Parquet tables left out: pip install 'planner[report]'\n"
    assert not list((film.folder / "report" / "tables").glob("*.parquet"))
    assert list((film.folder / "report" / "tables").glob("*.csv"))
