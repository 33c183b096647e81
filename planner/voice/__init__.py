"""An ear and a mouth: speech to text for /instruct, and text to speech (docs/voice.md)."""
