"""Derive the family tables from transformers: python -m scripts.derive [MODEL_TYPE …]

Without types, all of them; with types, only those are derived again and the others are taken from build/families. Prints
what changed, and what could not be reached with the reason. `--write` derives nothing and writes what was derived before,
`--missing` derives what is not in build/families yet: a run that was interrupted goes on.
"""

from __future__ import annotations

import json
import os
import sys
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
CACHE = ROOT / "build" / "families"  # what was derived of each type, so that few can be derived again


def main(chosen: list[str]) -> None:
    """Derive, then write the tables."""
    from scripts.derive import output, tiny, worker

    CACHE.mkdir(parents=True, exist_ok=True)
    types = chosen or tiny.model_types()
    if chosen == ["--write"]:
        types = []
    elif chosen == ["--missing"]:
        types = [name for name in tiny.model_types() if not (CACHE / f"{name}.json").exists()]
    # Not ProcessPoolExecutor: with max_tasks_per_child it can hang for ever (python/cpython issue 115634).
    with get_context("spawn").Pool(int(os.environ.get("DERIVE_WORKERS", "2")), maxtasksperchild=20) as pool:
        for at, (model_type, table) in enumerate(pool.imap(worker.derive, types), 1):
            (CACHE / f"{model_type}.json").write_text(json.dumps(table, indent=1), encoding="utf-8")
            said = table.get("unreached", f"{len(table.get('norm', []))} norms")
            print(f"{at}/{len(types)} {model_type}: {said} ({table['seconds']} s)", flush=True)
    output.write_all(CACHE)


if __name__ == "__main__":
    main(sys.argv[1:])
