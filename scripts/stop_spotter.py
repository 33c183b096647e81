"""Trains what hears "stop" (planner/voice/hearing.py) on speech of espeak-ng.

    python scripts/stop_spotter.py config/voice/stop.safetensors [--seed N]

"stop" is said by 47 voices at several speeds and pitches, alone or after and before other speech;
other speech is written sentences and some of the patterns of config/spoken.yaml, with words beside
that sound like it. White noise, pink noise and the babble of other voices are mixed in at 3 to
30 dB. What a first network takes for "stop" is shown to the next. The threshold is
chosen by 10 further voices and other sentences. The voices and sentences of
benchmarks/bench_voice.py are not among any of those.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from bench_voice import mixed, noise

from planner.voice.engines import Espeak
from planner.voice.hearing import HOP, LOOKS, WINDOW, Floats, Network, features, windows
from planner.voice.part import RATE_HZ
from planner.voice.sentences import draw_sentences
from planner.world.files import read_document

Samples = npt.NDArray[np.int16]
Noises = tuple[npt.NDArray[np.float64], ...]
ACCENTS = ("en-us", "en", "en-gb-x-rp", "en-gb-scotland", "en-us-nyc", "en-gb-x-gbclan")
VARIANTS = (
    "", "f1", "f3", "m1", "m2", "m4", "m5", "m6", "Alex", "Andrea", "Annie", "Gene", "Gene2",
    "Henrique", "Jacky", "Lee", "Marco", "Mario", "Michael", "Nguyen", "Reed", "anika", "antonio",
    "aunty", "belinda", "benjamin", "boris", "david", "ed", "edward", "edward2", "grandpa", "iven",
    "iven2", "iven3", "john", "klatt", "klatt3", "klatt5", "max", "miguel", "mike2", "robert",
    "steph2", "victor", "grandma", "kaukovalta",
)  # fmt: skip
# By these the threshold is chosen.
APART = ("f5", "m8", "Alicia", "Diogo", "Hugo", "gustave", "ian", "linda", "pedro", "zac")
TRAINED_ON = ("known", "held_out", "set_aside", "blind", *(f"blind_{k}" for k in range(2, 8)))
TRIED_ON = ("blind_8", "blind_9", "final")
LIKE_IT = (
    "top", "shop", "step", "stock", "spot", "stove", "drop", "mop", "still", "stool", "store",
    "soap", "chop", "shelf", "start", "sofa", "stuff", "steps", "on top of", "laptop", "desktop",
    "sock", "star", "staple", "stand", "stapler", "strap", "shower", "hop", "pop", "stick", "stay",
    "start the stove", "from the top", "on top", "spots", "stocks", "so", "sort", "stored", "stone",
)  # fmt: skip
AFTER = ("now", "it", "please", "robot", ", please", "there", "that", "moving", "stop", "right now")
# Missing "stop" is worse than standing for nothing: so many of them are to be heard.
HEARD = 0.985
# Clips of each kind, and of those by which the threshold is chosen.
POSITIVES, NEGATIVES, KEPT_APART = 2500, 3000, 600
HIDDEN, EPOCHS, BATCH, RATE = 64, 24, 256, 2e-3
# Networks, one after the other; how sure a mistake of one is that the next is shown.
ROUNDS, MISTAKEN = 2, 0.2


@dataclass(frozen=True)
class Studio:
    """Who speaks, what else is said, and in what noise."""

    mouth: Espeak
    draw: np.random.Generator
    variants: tuple[str, ...]
    texts: tuple[str, ...]
    noises: Noises = ()
    snrs: tuple[float, float] = (3.0, 30.0)

    def anybody(self) -> tuple[str, int, int]:
        """Some voice, speed and pitch."""
        accent, variant = str(self.draw.choice(ACCENTS)), str(self.draw.choice(self.variants))
        voice = f"{accent}+{variant}" if variant else accent
        return voice, int(self.draw.integers(105, 200)), int(self.draw.integers(20, 85))

    def said(self, text: str, who: tuple[str, int, int]) -> Samples:
        """A text without the silence around it."""
        samples = np.frombuffer(self.mouth.speak_as(text, *who), "<i2")
        loud = np.flatnonzero(np.abs(samples) > 200)
        return samples[loud[0] : loud[-1]] if len(loud) else samples

    def spoiled(self, clip: Samples) -> Samples:
        """A clip with some noise at some loudness."""
        draw = self.draw
        long, level = self.noises[int(draw.integers(len(self.noises)))], draw.uniform(0.05, 1.0)
        first = int(draw.integers(len(long) - len(clip)))
        made = mixed(clip, long[first : first + len(clip)], float(draw.uniform(*self.snrs)))
        return (made * level).astype(np.int16)

    def in_noise(self) -> Studio:
        """The same with noises, of which babble is of these voices."""
        babble = np.concatenate([self.said(text, self.anybody()) for text in self.texts[:60]])
        kinds = ("white", "pink", "babble", "white", "babble")
        return replace(
            self, noises=tuple(noise(kind, 1 << 20, self.draw, babble) for kind in kinds)
        )


def texts_of(names: tuple[str, ...], drawn: int, seed: int) -> tuple[str, ...]:
    """Sentences without "stop": of files of test/data/everyday, and some that are drawn."""
    folder = Path(__file__).parents[1] / "test" / "data" / "everyday"
    texts = [
        str(item["text"])
        for name in names
        for item in read_document(folder / f"{name}.yaml")["instructions"]
    ]
    texts += [" ".join(words) for words in draw_sentences(drawn, seed)]
    found = [text for text in texts if text and text.isascii() and "stop" not in text.lower()]
    order = np.random.default_rng(seed).permutation(len(found))
    return tuple(found[k] for k in order)


def silence(seconds: float) -> Samples:
    """Nothing."""
    return np.zeros(int(seconds * RATE_HZ), np.int16)


def stops(studio: Studio, count: int) -> Iterator[Floats]:
    """All windows of clips in which "stop" ends, the first five of which do so shortly before."""
    draw = studio.draw
    for _ in range(count):
        who, before, after = studio.anybody(), silence(1.0), silence(0.4)
        begins = str(draw.choice(["stop", "stop", "stop", "please stop", "robot stop", "hey stop"]))
        stop = studio.said(begins, who)
        end = len(before) + len(stop)
        if draw.random() < 0.4:
            # In one breath with what follows, where it is a little shorter than alone.
            stop = studio.said(f"{begins} {draw.choice(AFTER)}", who)
            end -= int(0.03 * RATE_HZ)
        if draw.random() < 0.3:
            other = studio.said(str(draw.choice(studio.texts)), who)
            other = np.concatenate([other, silence(draw.uniform(0.03, 0.2))])
            before, end = np.concatenate([before, other]), end + len(other)
        clip = np.concatenate([before, stop, after])
        first = max(0, end // HOP + 1 - WINDOW)
        for _ in range(2):
            yield windows(features(studio.spoiled(clip))[first:])[1:]


def others(studio: Studio, count: int) -> Iterator[Floats]:
    """All windows of other speech."""
    draw = studio.draw
    for number in range(count):
        text = str(draw.choice(LIKE_IT) if number % 4 == 0 else draw.choice(studio.texts))
        speech = studio.said(text, studio.anybody())[: 12 * RATE_HZ]
        clip = np.concatenate([silence(0.8), speech, silence(0.5)])
        yield windows(features(studio.spoiled(clip)))


def fit(seen: npt.NDArray[np.float16], truth: Floats, seed: int) -> Network:
    """A network by Adam on the cross entropy."""
    draw = np.random.default_rng(seed)
    shapes = ((seen.shape[1], HIDDEN), (HIDDEN,), (HIDDEN,), (1,))
    weights = [draw.normal(0, 1 / np.sqrt(s[0]), s).astype(np.float32) for s in shapes]
    weights[1][:] = weights[3][:] = 0.0
    first = [np.zeros_like(w) for w in weights]
    second = [np.zeros_like(w) for w in weights]
    step = 0
    for epoch in range(EPOCHS):
        rate, order = RATE * (1 - epoch / EPOCHS), draw.permutation(len(seen))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            jitter = draw.standard_normal((len(rows), seen.shape[1]), dtype=np.float32)
            x = seen[rows].astype(np.float32) + 0.15 * jitter
            raw = x @ weights[0] + weights[1]
            kept = (raw > 0) * (draw.random(raw.shape) > 0.2) / 0.8
            hidden = (raw * kept).astype(np.float32)
            out = 1 / (1 + np.exp(-np.clip(hidden @ weights[2] + weights[3], -30, 30)))
            error = ((out - truth[rows]) / len(rows)).astype(np.float32)
            back = (error[:, None] * weights[2] * kept).astype(np.float32)
            slopes = [x.T @ back, back.sum(0), hidden.T @ error, error.sum(keepdims=True)]
            step += 1
            for w, a, b, slope in zip(weights, first, second, slopes, strict=True):
                a += 0.1 * (slope - a)
                b += 0.001 * (slope**2 - b)
                fair = (a / (1 - 0.9**step)) / (np.sqrt(b / (1 - 0.999**step)) + 1e-8)
                w -= (rate * (fair + 1e-4 * w)).astype(np.float32)
    return Network(*weights, 0.5)


def peaks(network: Network, clips: Iterable[Floats]) -> Floats:
    """The sureness that each clip reaches, averaged over looks as the spotter does."""
    mean = np.full(LOOKS, 1.0 / LOOKS)
    sure = (network.sureness(clip) for clip in clips)
    return np.array([np.convolve(s, mean, "valid").max() for s in sure if len(s) >= LOOKS])


def trained(studio: Studio, seed: int) -> Network:
    """A network that has seen, beside much speech, what others before it took for "stop"."""
    positive = np.concatenate([seen[:5].astype(np.float16) for seen in stops(studio, POSITIVES)])
    # Neighbours are much alike.
    shown = [seen[::3].astype(np.float16) for seen in others(studio, NEGATIVES)]
    for attempt in range(ROUNDS):
        seen = np.concatenate([positive, *shown])
        truth = np.zeros(len(seen), np.float32)
        truth[: len(positive)] = 1.0
        network = fit(seen, truth, seed + attempt)
        print(f"{len(positive)} windows with stop, {len(seen)} in all", flush=True)
        if attempt + 1 < ROUNDS:
            shown += [
                more[network.sureness(more) > MISTAKEN].astype(np.float16)
                for more in others(studio, 2 * NEGATIVES)
            ]
    return network


def main() -> None:
    """Trains and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    draw, mouth = np.random.default_rng(args.seed), Espeak()
    studio = Studio(mouth, draw, VARIANTS, texts_of(TRAINED_ON, 1500, args.seed)).in_noise()
    network = trained(studio, args.seed)
    apart = Studio(mouth, draw, APART, texts_of(TRIED_ON, 150, args.seed + 1)).in_noise()
    apart = replace(apart, snrs=(18.0, 22.0))
    right = peaks(network, stops(apart, KEPT_APART))
    wrong = peaks(network, others(apart, KEPT_APART))
    threshold = float(np.clip(np.quantile(right, 1.0 - HEARD), 0.3, 0.95))
    print(f"threshold {threshold:.2f}: {np.mean(wrong > threshold):.1%} of other sentences taken")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    save_file(
        {
            "first": network.first.astype(np.float16),
            "bias": network.bias.astype(np.float16),
            "second": network.second.astype(np.float16),
            "last": network.last.astype(np.float16),
            "threshold": np.array([threshold], np.float32),
        },
        args.out,
    )


if __name__ == "__main__":
    main()
