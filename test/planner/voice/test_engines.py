"""Engines: real ones that come as packages, and a stand-in server by OpenAI's documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench_voice import Bench
from chat_server import JSON, posted
from safetensors.numpy import save_file

from planner.voice import engines
from planner.voice.engines import Espeak, PocketSphinx, SpeechServer, pcm_of, sound_of, wav_of
from planner.voice.hearing import StopSpotter, read_network
from planner.voice.part import EARS, MOUTHS, RATE_HZ, VoiceError, VoiceRequest
from planner.world.errors import FileError


@pytest.fixture(scope="module")
def bench() -> Bench:
    return Bench()


def test_stop_is_heard_in_19_of_20_voices_with_noise(bench: Bench) -> None:
    """Voices on which nothing was trained, at 20 dB; the benchmark has more of this."""
    assert bench.stops_heard(["stop", "please stop"] * 10, "white", 20.0) >= 19
    assert bench.stops_heard(["stop", "please stop"] * 10, "babble", 10.0) >= 14


def test_other_sentences_are_not_taken_for_stop(bench: Bench) -> None:
    said = ["put the cup on the table", "where is my book", "go to the kitchen", "thank you"]
    assert bench.stops_heard(said * 5, "white", 20.0) <= 1
    quiet, spotter = np.zeros(RATE_HZ, "<i2").tobytes(), StopSpotter()
    assert not any(spotter.hear(quiet) for _ in range(5))


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "stop.safetensors"
    with pytest.raises(FileError, match=r"stop\.safetensors: no weights of the stop spotter"):
        read_network(file)
    small = np.zeros((3, 2), np.float32)
    one = np.zeros(1, np.float32)
    save_file({"first": small, "bias": one, "second": one, "last": one, "threshold": one}, file)
    with pytest.raises(FileError, match="of another shape"):
        read_network(file)


@pytest.mark.slow
@pytest.mark.parametrize("text", ["yes", "the red one"])
def test_a_short_answer_goes_from_mouth_to_ear(text: str) -> None:
    """Whole sentences do not: docs/voice.md has the word errors."""
    silence = np.zeros(RATE_HZ // 2, "<i2").tobytes()
    assert PocketSphinx().transcribe(silence + Espeak().speak(text) + silence) == text


def test_the_phones_of_words_that_are_not_listed() -> None:
    known = {"hair": "HH EH R", "brush": "B R AH SH", "cat": "K AE T", "dog": "D AO G"}
    assert sound_of("cat", known) == "K AE T"
    assert sound_of("cats", known) == "K AE T S"
    assert sound_of("dogs", known) == "D AO G Z"
    assert sound_of("brushs", known) == "B R AH SH IH Z"
    assert sound_of("hairbrush", known) == "HH EH R B R AH SH"
    assert sound_of("xyzzy", known) == ""


def test_espeak_says_any_text_and_names_an_unknown_voice() -> None:
    mouth = Espeak()
    assert len(mouth.speak("Hello.")) > RATE_HZ // 2
    assert mouth.speak("\0 \ud800 \u4f60\u597d") is not None
    with pytest.raises(VoiceError, match="espeak-ng has no voice 'xx-nowhere'"):
        Espeak("xx-nowhere")


@pytest.mark.parametrize(
    ("make", "module"),
    [(EARS.get("pocketsphinx").make, "pocketsphinx"), (engines._load_espeak, "")],
)
def test_a_missing_part_says_so_in_one_error(
    make: Any, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(name: str, *args: Any) -> Any:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(engines.importlib, "import_module", gone)
    monkeypatch.setattr(engines.ctypes.util, "find_library", lambda _name: None)
    arguments = [VoiceRequest(options={"ear_sentences": ""})] if module else []
    with pytest.raises(VoiceError, match=r"needs \w+ \(.*\); pip install 'planner\[voice\]'$"):
        make(*arguments)


def test_wav_files_of_any_rate_are_read_and_others_refused() -> None:
    tone = (8000 * np.sin(np.arange(RATE_HZ) / 5)).astype("<i2").tobytes()
    assert pcm_of(wav_of(tone), "a.wav") == tone
    slow = wav_of(tone).replace((16000).to_bytes(4, "little"), (8000).to_bytes(4, "little"), 1)
    assert len(pcm_of(slow, "a.wav")) == 2 * len(tone)
    for wrong in (b"", b"RIFF", b"ID3 mp3", wav_of(tone)[:30]):
        with pytest.raises(VoiceError, match=r"a\.wav: expected a WAV file"):
            pcm_of(wrong, "a.wav")


@contextmanager
def speech_server(status: int = 200, sound: bytes = b"") -> Iterator[tuple[str, list[Any]]]:
    """A stand-in for a server with OpenAI's audio API; yields its URL and what it was asked."""
    asked: list[Any] = []

    def answer(path: str, kind: str, body: bytes) -> tuple[int, str, bytes]:
        asked.append((path, kind, body))
        if status != 200:
            return status, JSON, b'{"error": {"message": "no such model"}}'
        if path == "/v1/audio/speech":
            return status, "audio/wav", sound
        return status, JSON, json.dumps({"text": " Open the door. "}).encode()

    with posted(answer) as url:
        yield url, asked


def defaults(options: Any, url: str) -> VoiceRequest:
    return VoiceRequest(url, {option.name: option.default for option in options})


def test_a_speech_server_hears_and_speaks_as_openai_documents_it() -> None:
    tone = np.arange(4000, dtype="<i2").tobytes()
    with speech_server(sound=wav_of(tone)) as (url, asked):
        ear, mouth = EARS.get("server"), MOUTHS.get("server")
        assert ear.make(defaults(ear.options, url)).transcribe(tone) == "Open the door."
        assert mouth.make(defaults(mouth.options, url)).speak("Hello.") == tone
    (path, kind, body), (other, _, said) = asked
    assert (path, other) == ("/v1/audio/transcriptions", "/v1/audio/speech")
    assert kind.startswith("multipart/form-data")
    assert wav_of(tone) in body
    assert b"whisper-1" in body
    assert json.loads(said) == {
        "input": "Hello.",
        "model": "tts-1",
        "voice": "alloy",
        "response_format": "wav",
    }


def test_a_server_that_fails_is_one_error_with_its_address() -> None:
    with speech_server(status=404) as (url, _), pytest.raises(VoiceError, match=url):
        SpeechServer(url, "m").transcribe(b"\0\0")
    with speech_server(sound=b"nonsense") as (url, _), pytest.raises(VoiceError, match="WAV"):
        SpeechServer(url, "m", "v").speak("Hello.")
    with pytest.raises(VoiceError, match="needs the address of a server"):
        SpeechServer("", "m")
