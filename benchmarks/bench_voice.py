"""How well the ear hears: word errors on sentences said to robots, and how often "stop" is heard.

    python benchmarks/bench_voice.py [--sentences N] [--stops N] [--others N] [--ear NAME --url URL]
    python benchmarks/bench_voice.py --apart --threshold 0.55 --seed 21 --snrs 20 --sentences 0

espeak-ng says all of it, in voices on which nothing was trained or set. Noise is mixed in so that
the speech, where there is some, is so many dB louder. Sentences: written ones, of
test/data/everyday/blind_10 to blind_12, and some drawn from the patterns of config/spoken.yaml with
another seed than the language model's. "Stop": alone, or with please, robot or now. Others: written
sentences without "stop", in which the spotter hears none if it is right. The second command has
voices on which nothing was trained either, but by which the threshold is chosen.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from machine import print_table

from planner.voice.engines import Espeak
from planner.voice.hearing import StopSpotter, shipped_network
from planner.voice.part import EARS, RATE_HZ, Recogniser, VoiceRequest
from planner.voice.sentences import draw_sentences, words_of
from planner.world.files import read_document

Samples = npt.NDArray[np.int16]
HELD_OUT = (
    "f2", "f4", "m3", "m7", "Andy", "Denis", "adam", "klatt2", "marcelo", "norbert", "quincy",
    "rob", "sandro", "shelby", "steph", "travis", "pablo", "paul", "caleb", "michel",
)  # fmt: skip
APART = (
    "Diogo", "gustave", "pedro", "Gene2", "Henrique", "Nguyen", "Reed", "edward2", "iven2", "iven3",
    "klatt5", "mike2", "robert", "grandma", "kaukovalta",
)  # fmt: skip
ACCENTS = ("en-us", "en", "en-gb-scotland", "en-gb-x-rp")
STOPS = ("stop", "stop!", "please stop", "robot, stop", "stop now", "stop, please")
SNRS = (20.0, 10.0, 5.0)
KINDS = ("white", "babble")
BLOCK_BYTES = 3200


def voice(number: int, voices: Sequence[str] = HELD_OUT) -> str:
    """The voice of a number, one after the other."""
    return f"{ACCENTS[number % len(ACCENTS)]}+{voices[number % len(voices)]}"


def mixed(clip: Samples, sound: npt.NDArray[np.float64], snr_db: float) -> npt.NDArray[np.float64]:
    """A clip with noise, `snr_db` below the loudness of its loud parts; at most full scale."""
    clean = clip.astype(float)
    loud = clean[np.abs(clean) > 100]
    power = float(np.mean(loud**2)) if len(loud) else 1.0
    gain = np.sqrt(power / 10 ** (snr_db / 10) / (float(np.mean(sound**2)) + 1e-9))
    made = clean + gain * sound
    return np.asarray(made * min(1.0, 32000.0 / (float(np.abs(made).max()) + 1e-9)))


def noise(
    kind: str, count: int, draw: np.random.Generator, babble: Samples
) -> npt.NDArray[np.float64]:
    """Noise of a kind: white, pink, or four voices at once."""
    if kind == "babble":
        parts = [np.roll(babble, int(draw.integers(len(babble)))) for _ in range(4)]
        return np.resize(np.sum([part.astype(float) for part in parts], axis=0), count)
    white = draw.normal(size=count)
    if kind == "white":
        return np.asarray(white)
    spectrum = np.fft.rfft(white)
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(1.0, np.arange(len(spectrum)))), count)
    return np.asarray(pink)


def word_errors(said: Sequence[str], heard: Sequence[str]) -> int:
    """Words that are wrong, missing or too many, as few as may be."""
    row = list(range(len(heard) + 1))
    for number, word in enumerate(said, 1):
        before, row = row, [number]
        for at, other in enumerate(heard, 1):
            row.append(min(before[at] + 1, row[-1] + 1, before[at - 1] + (word != other)))
    return row[-1]


def spoken(mouth: Espeak, text: str, number: int, voices: Sequence[str]) -> Samples:
    """A text in the voice of a number, with silence around it."""
    speed, pitch = 120 + 10 * (number % 6), 35 + 5 * (number % 7)
    pcm = mouth.speak_as(text, voice(number, voices), speed, pitch)
    quiet = np.zeros(RATE_HZ // 2, np.int16)
    return np.concatenate([quiet, quiet, np.frombuffer(pcm, "<i2"), quiet])


def written(count: int) -> list[str]:
    """Sentences that somebody wrote, without digits or letters that are not English."""
    folder = Path(__file__).parents[1] / "test" / "data" / "everyday"
    texts = [
        str(item["text"])
        for number in (10, 11, 12)
        for item in read_document(folder / f"blind_{number}.yaml")["instructions"]
    ]
    plain = [text for text in texts if text.isascii() and not any(c.isdigit() for c in text)]
    return random.Random(5).sample(plain, min(count, len(plain)))


class Bench:
    """Says things and counts what was heard."""

    def __init__(
        self, voices: Sequence[str] = HELD_OUT, threshold: float | None = None, seed: int = 7
    ) -> None:
        self.mouth, self.draw, self.voices = Espeak(), np.random.default_rng(seed), voices
        network = shipped_network()
        self.network = network if threshold is None else replace(network, threshold=threshold)
        said = (" ".join(words) for words in draw_sentences(24, 77))
        pcm = (self.mouth.speak_as(s, voice(k, voices)) for k, s in enumerate(said))
        self.babble = np.concatenate([np.frombuffer(clip, "<i2") for clip in pcm])

    def clip(self, text: str, number: int, kind: str, snr_db: float) -> bytes:
        """A text with noise, as PCM."""
        clean = spoken(self.mouth, text, number, self.voices)
        made = mixed(clean, noise(kind, len(clean), self.draw, self.babble), snr_db)
        return bytes((0.6 * made).astype("<i2").tobytes())

    def stops_heard(self, texts: Sequence[str], kind: str, snr_db: float) -> int:
        """In how many of these texts the spotter hears "stop"."""
        found = 0
        for number, text in enumerate(texts):
            pcm, spotter = self.clip(text, number, kind, snr_db), StopSpotter(self.network)
            blocks = range(0, len(pcm), BLOCK_BYTES)
            found += any(spotter.hear(pcm[k : k + BLOCK_BYTES]) for k in blocks)
        return found

    def errors(
        self, ear: Recogniser, texts: Sequence[str], kind: str, snr_db: float
    ) -> tuple[int, int, int, float]:
        """Word errors, words, sentences without an error, and processor seconds a second."""
        wrong = count = right = 0
        length_s, begun_s = 0.0, time.process_time()
        for number, text in enumerate(texts):
            pcm = self.clip(text, number, kind, snr_db)
            length_s += len(pcm) / 2 / RATE_HZ
            said, heard = words_of(text), words_of(ear.transcribe(pcm))
            errors = word_errors(said, heard)
            wrong, count, right = wrong + errors, count + len(said), right + (errors == 0)
        return wrong, count, right, (time.process_time() - begun_s) / length_s


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=40)
    parser.add_argument("--stops", type=int, default=120)
    parser.add_argument("--others", type=int, default=120)
    parser.add_argument("--ear", default="pocketsphinx", choices=EARS.names())
    parser.add_argument("--url", default="")
    parser.add_argument("--apart", action="store_true", help="voices that chose the threshold")
    parser.add_argument("--threshold", type=float, help="of the spotter, else as it ships")
    parser.add_argument("--seed", type=int, default=7, help="of the noise")
    parser.add_argument("--snrs", type=float, nargs="+", default=SNRS, metavar="DB")
    args = parser.parse_args()
    bench = Bench(APART if args.apart else HELD_OUT, args.threshold, args.seed)
    rows = []
    stops = [STOPS[number % len(STOPS)] for number in range(args.stops)]
    others = [text for text in written(args.others + 20) if "stop" not in text.lower()]
    others = others[: args.others]
    for kind in KINDS:
        for snr in args.snrs:
            heard = bench.stops_heard(stops, kind, snr)
            false = bench.stops_heard(others, kind, snr)
            rows.append(
                (f"{kind}, {snr:g} dB", f"{heard} of {len(stops)}", f"{false} of {len(others)}")
            )
            print(rows[-1], flush=True)
    print_table("stop heard by the spotter; and in sentences without it", rows)
    if not args.sentences:
        return
    part = EARS.get(args.ear)
    options = {option.name: option.default for option in part.options}
    ear = part.make(VoiceRequest(args.url, options))
    sets = {
        "written": written(args.sentences),
        "drawn": [" ".join(words) for words in draw_sentences(args.sentences, 99)],
    }
    rows = []
    for name, texts in sets.items():
        for kind, snr in (("white", 30.0), ("white", 20.0), ("babble", 20.0)):
            wrong, count, right, cost = bench.errors(ear, texts, kind, snr)
            rows.append(
                (
                    f"{name}, {kind}, {snr:g} dB",
                    f"{100 * wrong / count:.0f} % of {count} words",
                    f"{right} of {len(texts)} sentences right, {cost:.2f} s of a core a second",
                )
            )
            print(rows[-1], flush=True)
    print_table(f"word errors, {args.ear}", rows)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
