"""The ears and mouths of this project by name; what each needs is imported when it is made."""

from __future__ import annotations

import ctypes
import ctypes.util
import importlib
import io
import os
import tempfile
import threading
import wave
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.parts.option import Option
from planner.voice.part import (
    RATE_HZ,
    SAMPLE_BYTES,
    EarPart,
    MouthPart,
    Recogniser,
    Speaker,
    VoiceError,
    VoiceRequest,
)

if TYPE_CHECKING:
    from openai import OpenAI

EXTRA = "pip install 'planner[voice]'"
# Of a text that is said, characters; of what a server may send, bytes.
MAX_SAID, MAX_SOUND_BYTES = 1_000, 20_000_000
SERVER_TIMEOUT_S = 20.0


def _needed(module: str, why: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise VoiceError(f"{why} needs {module} ({error}); {EXTRA}") from None


# WAV, which servers and files have


def wav_of(pcm: bytes) -> bytes:
    """A WAV file of PCM."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(SAMPLE_BYTES)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm)
    return out.getvalue()


def pcm_of(wav: bytes, name: str) -> bytes:
    """The PCM of a WAV file of one or more channels and any rate, of which the first is taken.

    Args:
        wav: the file's contents.
        name: of the file, for errors.

    Raises:
        VoiceError: if it is no WAV file of 16-bit samples.
    """
    import numpy as np

    try:
        with wave.open(io.BytesIO(wav)) as file:
            channels, width, rate = file.getnchannels(), file.getsampwidth(), file.getframerate()
            # A server that streams does not know the length when it writes the header.
            data = file.readframes(MAX_SOUND_BYTES // (channels * width))
    except (wave.Error, EOFError, ZeroDivisionError) as error:
        raise VoiceError(f"{name}: expected a WAV file: {error}") from None
    if width != SAMPLE_BYTES or not 4_000 <= rate <= 192_000:
        raise VoiceError(f"{name}: expected samples of 16 bit, got {8 * width} bit at {rate} Hz")
    step = channels * width
    samples = np.frombuffer(data[: len(data) // step * step], "<i2")[::channels]
    return _resampled(samples, rate)


def _resampled(samples: Any, rate: int) -> bytes:
    if rate == RATE_HZ:
        return bytes(samples.astype("<i2").tobytes())
    import numpy as np
    from scipy.signal import resample_poly

    common = int(np.gcd(rate, RATE_HZ))
    made = resample_poly(samples.astype(float), RATE_HZ // common, rate // common)
    return bytes(np.clip(made, -32768, 32767).astype("<i2").tobytes())


# espeak-ng


class Espeak:
    """espeak-ng as a library: a formant synthesiser, which needs no model."""

    # The library has one state for the whole process.
    _lock = threading.Lock()
    _library: Any = None
    _rate = 0

    def __init__(self, voice: str = "en-us", speed: int = 150) -> None:
        """Loads the library.

        Raises:
            VoiceError: if it is missing, or has no such voice.
        """
        self._voice, self._speed = voice, speed
        with Espeak._lock:
            if Espeak._library is None:
                Espeak._library, Espeak._rate = _load_espeak()
            self._choose(voice)

    def speak(self, text: str) -> bytes:
        """As `Speaker`."""
        return self.speak_as(text, self._voice, self._speed)

    def speak_as(self, text: str, voice: str, speed: int = 150, pitch: int = 50) -> bytes:
        """The sound of a text in some voice.

        Args:
            text: of which the first 1,000 characters are said.
            voice: such as `en-us`, `en-gb-scotland` or `en-us+f3`.
            speed: words a minute.
            pitch: 0 to 100.

        Raises:
            VoiceError: if there is no such voice, or nothing can be made of the text.
        """
        import numpy as np

        parts: list[Any] = []

        def take(samples: Any, count: int, _events: Any) -> int:
            if samples and count > 0:
                parts.append(np.ctypeslib.as_array(samples, (count,)).copy())
            return 0

        callback = _CALLBACK(take)
        said = text[:MAX_SAID].encode("utf-8", "replace").replace(b"\0", b" ")
        with Espeak._lock:
            library = Espeak._library
            self._choose(voice)
            library.espeak_SetSynthCallback(callback)
            library.espeak_SetParameter(_SPEED, speed, 0)
            library.espeak_SetParameter(_PITCH, pitch, 0)
            status = library.espeak_Synth(
                said, ctypes.c_size_t(len(said) + 1), 0, 1, 0, _UTF8, None, None
            )
        if status != 0:
            raise VoiceError(f"espeak-ng cannot say {text[:60]!r}: status {status}")
        return _resampled(np.concatenate(parts), self._rate) if parts else b""

    @staticmethod
    def _choose(voice: str) -> None:
        if Espeak._library.espeak_SetVoiceByName(voice.encode()) != 0:
            raise VoiceError(f"espeak-ng has no voice {voice!r}; such as en-us, en-us+f3")


_CALLBACK = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p
)
_SYNCHRONOUS, _SPEED, _PITCH, _UTF8 = 2, 1, 3, 1


def _load_espeak() -> tuple[Any, int]:
    """The library of Debian's package or PyPI's espeakng-loader, and its rate, Hz."""
    path, data = ctypes.util.find_library("espeak-ng"), None
    if path is None:
        why = "the mouth espeak (or Debian's libespeak-ng1)"
        loader = _needed("espeakng_loader", why)
        path, data = loader.get_library_path(), loader.get_data_path().encode()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise VoiceError(f"the mouth espeak: {error}") from None
    rate = int(library.espeak_Initialize(_SYNCHRONOUS, 0, data, 0))
    if rate <= 0:
        raise VoiceError(f"the mouth espeak: {path} does not start: status {rate}")
    return library, rate


def _make_espeak(request: VoiceRequest) -> Speaker:
    return Espeak(request.text("mouth_voice"), request.whole("mouth_speed"))


# PocketSphinx


class PocketSphinx:
    """CMU PocketSphinx, its American English sounds and a language model of our sentences."""

    def __init__(self, sentences: str = "") -> None:
        """Makes the language model and loads it, which takes some seconds.

        Args:
            sentences: file with sentences of yours, one a line, such as names; "" = none.

        Raises:
            VoiceError: if the library is missing.
            FileError: if the file cannot be read.
        """
        library = _needed("pocketsphinx", "the ear pocketsphinx")
        model = _needed("pocketsphinx.lm", "the ear pocketsphinx")
        sounds = Path(library.get_model_path("en-us/cmudict-en-us.dict"))
        with tempfile.TemporaryDirectory() as folder:
            words, arpa = Path(folder) / "words.dict", Path(folder) / "sentences.arpa"
            _write_models(sounds, sentences, model.ArpaBoLM, words, arpa)
            self._decoder = library.Decoder(
                samprate=RATE_HZ, loglevel="FATAL", lm=str(arpa), dict=str(words)
            )
        self._lock = threading.Lock()

    def transcribe(self, pcm: bytes) -> str:
        """As `Recogniser`."""
        if not pcm:
            return ""
        with self._lock:
            self._decoder.start_utt()
            self._decoder.process_raw(pcm, full_utt=True)
            self._decoder.end_utt()
            found = self._decoder.hyp()
        return str(found.hypstr) if found is not None else ""


def _write_models(sounds: Path, sentences: str, model: Any, words: Path, arpa: Path) -> None:
    """Writes the dictionary of what may be said, and the language model."""
    from planner.voice.sentences import SENTENCES, draw_sentences, every_word, words_of
    from planner.world.files import read_text

    # Variants, as in "the(2)", follow their word.
    known = dict(line.split(" ", 1) for line in sounds.read_text("utf-8").splitlines() if line)
    own = [words_of(line) for line in read_text(Path(sentences)).splitlines()] if sentences else []
    drawn = [*draw_sentences(SENTENCES), *own * 10]
    wanted = sorted(every_word() | {word for line in drawn for word in line})
    said = {word: sound for word in wanted if (sound := sound_of(word, known))}
    lines = [f"{word} {sound}" for word, sound in said.items()]
    lines += [f"{w} {s}" for w, s in known.items() if "(" in w and w.partition("(")[0] in said]
    words.write_text("\n".join(lines) + "\n", "utf-8")
    usable = [" ".join(line) for line in drawn if line and all(word in said for word in line)]
    made = model(text="\n".join([*usable, *said]) + "\n", add_start=True)
    made.compute()
    if not made.write_file(str(arpa)):
        raise VoiceError(f"the ear pocketsphinx: {arpa} cannot be written")


def sound_of(word: str, known: Mapping[str, str]) -> str:
    """The phones of a word: as listed, as a plural or as two words in one; "" if none is known."""
    if word in known:
        return known[word]
    if word.endswith("s") and (single := known.get(word[:-1], "")):
        ending = single.rsplit(" ", 1)[-1]
        if ending in ("S", "Z", "SH", "CH", "ZH", "JH"):
            return f"{single} IH Z"
        return f"{single} {'S' if ending in ('P', 'T', 'K', 'F', 'TH') else 'Z'}"
    for at in range(len(word) - 3, 2, -1):
        if word[:at] in known and word[at:] in known:
            return f"{known[word[:at]]} {known[word[at:]]}"
    return ""


def _make_sphinx(request: VoiceRequest) -> Recogniser:
    return PocketSphinx(request.text("ear_sentences"))


# A server with OpenAI's audio API


class SpeechServer:
    """`/audio/transcriptions` and `/audio/speech` of a server that the operator named."""

    def __init__(self, url: str, model: str, voice: str = "") -> None:
        """Nothing is sent yet.

        Raises:
            VoiceError: without an address.
        """
        if not url:
            raise VoiceError("the part server needs the address of a server, .../v1: voice_url")
        self._url, self._model, self._voice = url, model, voice
        self._client = _client(url)

    def transcribe(self, pcm: bytes) -> str:
        """As `Recogniser`."""
        from openai import OpenAIError

        try:
            found = self._client.audio.transcriptions.create(
                model=self._model, file=("speech.wav", wav_of(pcm)), response_format="json"
            )
        except OpenAIError as error:
            raise VoiceError(f"the speech server {self._url}: {error}") from None
        text = getattr(found, "text", None)
        if not isinstance(text, str):
            raise VoiceError(f"the speech server {self._url}: expected JSON with a text")
        return text.strip()

    def speak(self, text: str) -> bytes:
        """As `Speaker`."""
        from openai import OpenAIError

        sound = b""
        try:
            with self._client.audio.speech.with_streaming_response.create(
                model=self._model, voice=self._voice, input=text[:MAX_SAID], response_format="wav"
            ) as response:
                for part in response.iter_bytes():
                    sound += part
                    if len(sound) > MAX_SOUND_BYTES:
                        raise VoiceError(f"the speech server {self._url}: its sound never ends")
        except OpenAIError as error:
            raise VoiceError(f"the speech server {self._url}: {error}") from None
        return pcm_of(sound, f"the speech server {self._url}")


def _client(url: str) -> OpenAI:
    from openai import OpenAI

    key = os.environ.get("OPENAI_API_KEY") or "none"
    return OpenAI(base_url=url, api_key=key, timeout=SERVER_TIMEOUT_S, max_retries=1)


def _make_server_ear(request: VoiceRequest) -> Recogniser:
    return SpeechServer(request.url, request.text("ear_model"))


def _make_server_mouth(request: VoiceRequest) -> Speaker:
    return SpeechServer(request.url, request.text("mouth_model"), request.text("mouth_name"))


# The sound card, where there is one


class SoundCard:
    """A microphone or a loudspeaker by the library sounddevice."""

    def __init__(self, device: str) -> None:
        """Nothing is opened yet.

        Args:
            device: name or number of one, or `default`.

        Raises:
            VoiceError: if the library or PortAudio is missing.
        """
        try:
            self._library = _needed("sounddevice", f"the sound card {device}")
        except OSError as error:
            raise VoiceError(f"the sound card {device}: {error}; install libportaudio2") from None
        named: str | int = int(device) if device.isdigit() else device
        self._device = None if device == "default" else named
        self._stream: Any = None

    def listen(self, take: Callable[[bytes], None]) -> None:
        """From now on `take` gets its sound, PCM, in a thread of the library.

        Raises:
            VoiceError: if it cannot be opened.
        """

        def pass_on(data: Any, _frames: int, _times: Any, _flags: Any) -> None:
            take(bytes(data))

        self._open(self._library.RawInputStream, callback=pass_on, blocksize=RATE_HZ // 20)

    def play(self, pcm: bytes) -> None:
        """Plays PCM and returns when it is over.

        Raises:
            VoiceError: if it cannot be opened.
        """
        if self._stream is None:
            self._open(self._library.RawOutputStream)
        self._stream.write(pcm)

    def close(self) -> None:
        """Closes it."""
        if self._stream is not None:
            self._stream.close()

    def _open(self, kind: Any, **more: Any) -> None:
        try:
            self._stream = kind(
                samplerate=RATE_HZ, channels=1, dtype="int16", device=self._device, **more
            )
            self._stream.start()
        except (self._library.PortAudioError, ValueError) as error:
            raise VoiceError(f"the sound card {self._device or 'default'}: {error}") from None


EARS: Mapping[str, EarPart] = {
    "pocketsphinx": EarPart(
        summary="CMU PocketSphinx on this machine, for English; mishears often; extra voice",
        make=_make_sphinx,
        confirms=True,
        options=(
            Option("ear_sentences", "", "file of sentences that you say, one a line", is_path=True),
        ),
    ),
    "server": EarPart(
        summary="a server with OpenAI's /audio/transcriptions, to which what is said is sent",
        make=_make_server_ear,
        needs_url=True,
        options=(Option("ear_model", "whisper-1", "the server's name of the recogniser"),),
    ),
}
MOUTHS: Mapping[str, MouthPart] = {
    "espeak": MouthPart(
        summary="espeak-ng on this machine; extra voice, or Debian's libespeak-ng1",
        make=_make_espeak,
        options=(
            Option("mouth_voice", "en-us", "a voice of espeak-ng, such as en-gb-scotland or en+f3"),
            Option("mouth_speed", 150, "words a minute", min_value=80, max_value=400),
        ),
    ),
    "server": MouthPart(
        summary="a server with OpenAI's /audio/speech, to which what is said is sent",
        make=_make_server_mouth,
        needs_url=True,
        options=(
            Option("mouth_model", "tts-1", "the server's name of the speaker"),
            Option("mouth_name", "alloy", "the server's name of the voice"),
        ),
    ),
}
