"""The door: `ln-audit` and `python -m ln_audit` both come in here. It imports nothing that --version does not need."""

from __future__ import annotations

import gc
import os
import sys

_YOUNG = 200_000  # objects before a collection; Python's 700 spend a twentieth of a short run on what was just imported
_RUNS_A_MODEL = {"record", "--record"}


def main() -> int:
    """Run the program with the arguments of this process; returns the exit code."""
    if sys.argv[1:] == ["--version"]:
        from ln_audit import __version__

        sys.stdout.write(f"ln-audit {__version__}\n")
        return 0
    gc.set_threshold(_YOUNG)
    if not _RUNS_A_MODEL & set(sys.argv):
        # NumPy's BLAS would start a thread per processor, and nothing here multiplies matrices but a model that is run.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from ln_audit import cli

    code = cli.main(sys.argv[1:])
    gc.freeze()  # what is left goes with the process; the collection at its end would look through all of it
    return code


if __name__ == "__main__":
    sys.exit(main())
