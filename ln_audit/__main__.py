"""The door: `ln-audit` and `python -m ln_audit` both come in here. It imports nothing that --version does not need."""

from __future__ import annotations

import sys


def main() -> int:
    """Run the program with the arguments of this process; returns the exit code."""
    if sys.argv[1:] == ["--version"]:
        from ln_audit import __version__

        sys.stdout.write(f"ln-audit {__version__}\n")
        return 0
    from ln_audit import cli

    return cli.main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
