"""Write ln_audit/families/data/index.json and recognised_by.json: model_type, architecture, telling names → the table to read.

python scripts/index_families.py          # write it
python scripts/index_families.py --check  # exit 1 when it is not up to date
"""

import json
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "ln_audit" / "families" / "data"
sys.path.insert(0, str(ROOT))

from ln_audit.families.table import parse  # noqa: E402


def build() -> dict[str, str]:
    """File name → JSON text: the same for the same tables. Telling names are a file of their own, which few runs read."""
    families = [parse(path.read_text(encoding="utf-8"), path.name) for path in sorted(DATA.glob("*.toml"))]
    claimed = Counter(name for family in families for name in family.architectures)
    index = {
        "families": [family.name for family in families],
        "model_types": {model_type: family.name for family in families for model_type in family.model_types},
        "architectures": {name: f.name for f in families for name in f.architectures if claimed[name] == 1},
    }
    telling = {f.name: {"prefixes": f.prefixes, "names": f.recognised_by} for f in families if f.recognised_by}
    return {
        "index.json": json.dumps(index, indent=1) + "\n",
        "recognised_by.json": json.dumps(telling, indent=1) + "\n",
    }


if __name__ == "__main__":
    for name, text in build().items():
        target = DATA / name
        if "--check" not in sys.argv:
            target.write_text(text, encoding="utf-8")
        elif target.read_text(encoding="utf-8") != text:
            sys.exit(f"{target}: not up to date; run {sys.argv[0]}")
