"""A bag and a power cut."""

from __future__ import annotations

from pathlib import Path

import yaml
from power_cut import Machine

from planner.replay.bag import Bag
from planner.replay.recover import recover


def test_what_was_flushed_survives_a_power_cut(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    script = """
        from planner.recorder.bag_writer import BagWriter, Limits, Topic
        bag = BagWriter(FOLDER / "run" / "bag", Limits(file_bytes=4000))
        words = bag.add_topic(Topic("/words", "std_msgs/msg/String", "string data", ""))
        count = 0
        while True:
            for _ in range(int(input())):
                bag.write(words, 1000 + count, 1000 + count, bytes([0, 1, 0, 0, 1, 0, 0, 0, 0]))
                count += 1
                bag.attach("noise", "text/plain", os.urandom(100), 0)
            bag.flush()
            print(count, flush=True)
        """
    with machine.running(script) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, count in enumerate((1, 20, 40, 3)):
            process.stdin.write(f"{count}\n")
            process.stdin.flush()
            told = int(process.stdout.readline())
            folder = machine.after_power_cut() / "run" / "bag"
            left = Bag(folder)
            assert (left.message_count, left.cut_short) == (told, True)
            description = yaml.safe_load((folder / "metadata.yaml").read_text())
            named = description["rosbag2_bagfile_information"]["relative_file_paths"]
            assert {*named} <= {path.name for path in folder.glob("*.mcap")}
            whole = recover(folder, tmp_path / f"whole_{number}")
            assert whole.messages == told
    assert len(list(folder.glob("*.mcap"))) > 1
