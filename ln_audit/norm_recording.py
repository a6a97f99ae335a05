"""Rows of one norm that a test gathers, to be written as a recording and judged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ln_audit.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import numpy as np

    from ln_audit.comparison import Comparison
    from ln_audit.result import Report

    Judge = Callable[..., Report]


class NormRecording:
    """What a norm read and gave, over as many calls as one likes; `path` is the recording, once `write` was called.

    `verify` is what `NormRecording.verify` hands on to: it takes a target and options, and returns the one report on it.
    """

    def __init__(self, path: Path, verify: Judge) -> None:
        self.path = path
        self._verify = verify
        self._rows: list[tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]] = []
        self._judged = False

    @property
    def positions(self) -> int:
        """How many rows there are so far."""
        return sum(len(before) for before, _ in self._rows)

    def add(self, before: Any, after: Any) -> None:
        """Rows of one call, each `[..., d]`: NumPy arrays or torch tensors. They are copied.

        Raises `UsageError` for what is no floats, or does not fit what came before.
        """
        from ln_audit.testing import array_of

        read, given = array_of(before, "before"), array_of(after, "after")
        if read.shape != given.shape or read.ndim < 1:
            raise UsageError(f"after: expected the shape of before, {list(read.shape)}, found {list(given.shape)}")
        rows = tuple(each.reshape(-1, each.shape[-1]).copy() for each in (read, given))
        if self._rows:
            for name, new, old in zip(("before", "after"), rows, self._rows[0], strict=True):
                if (new.dtype, new.shape[1]) != (old.dtype, old.shape[1]):
                    known, found = (f"{each.dtype}, {each.shape[1]} wide" for each in (old, new))
                    raise UsageError(f"{name}: expected {known} as before, found {found}")
        self._rows.append((rows[0], rows[1]))
        self._judged = False

    def write(self) -> Path:
        """Write the recording, as `ln-audit verify --recording` reads it, and return its path. Raises `UsageError`."""
        from ln_audit import __version__
        from ln_audit.record.tensors import of_array
        from ln_audit.recording.writer import RecordingWriter

        before, after = self._all()
        writer = RecordingWriter(self.path)
        for name, values in (("before", before), ("after", after)):
            block = of_array(values)
            writer.append(name, block.dtype, block.shape, block.data)
        writer.finish({"ln_audit.recording": "1", "made_with": f"ln-audit {__version__}, norm_recording"})
        return self.path

    def verify(self, target: Any, **options: Any) -> Report:
        """Hold all rows to a checkpoint's norm, the final one or `norm=NAME`; the test fails where that does not pass."""
        path = self.write()
        self._judged = True
        return self._verify(target, recording=path, **options)

    def assert_norm(self, gain: Any = None, bias: Any = None, **options: Any) -> Comparison:
        """Hold all rows to these parameters, as `ln_audit.testing.assert_norm` does, with its options."""
        from ln_audit.testing import assert_norm

        __tracebackhide__ = True
        before, after = self._all()
        self._judged = True
        return assert_norm(before, after, gain, bias, **options)

    def complaint(self) -> str:
        """Why the test proved nothing; empty where every row was judged."""
        if not self._rows:
            return "norm_recording: expected rows (norm_recording.add(before, after)), found none: nothing was checked"
        if not self._judged:
            told = f"found {self.positions:,} rows that nothing was held to"
            return f"norm_recording: expected .verify(target) or .assert_norm(gain, bias, …) at the end, {told}"
        return ""

    def _all(self) -> Sequence[np.ndarray[Any, Any]]:
        import numpy as np

        if not self._rows:
            raise UsageError("norm_recording: expected rows, found none")
        return [np.concatenate(each) for each in zip(*self._rows, strict=True)]
