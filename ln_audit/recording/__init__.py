"""Recorded hidden states: what went into a norm and what came out, read in blocks, never all of it in memory.

`open_recording` reads a recording (safetensors), `open_pair` two arrays (`--before`, `--after`). No code of a recording
is ever run, and whatever is wrong with one is a `RecordingError`.
"""

from ln_audit.recording.arrays import ArrayFile
from ln_audit.recording.recording import Recording, open_pair, open_recording

__all__ = ["ArrayFile", "Recording", "open_pair", "open_recording"]
