"""Write ln_audit/families/data/index.json: model_type, architecture and telling names → the table that must be read.

python scripts/index_families.py          # write it
python scripts/index_families.py --check  # exit 1 when it is not up to date
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "ln_audit" / "families" / "data"
sys.path.insert(0, str(ROOT))

from ln_audit.families.schema import parse  # noqa: E402


def build() -> str:
    """The index as JSON text: the same for the same tables."""
    families = [parse(path.read_text(encoding="utf-8"), path.name) for path in sorted(DATA.glob("*.toml"))]
    return (
        json.dumps(
            {
                "families": [family.name for family in families],
                "model_types": {model_type: family.name for family in families for model_type in family.model_types},
                "architectures": {name: family.name for family in families for name in family.architectures},
                "names": {
                    f.name: {"prefixes": f.prefixes, "names": f.recognised_by} for f in families if f.recognised_by
                },
            },
            indent=1,
        )
        + "\n"
    )


if __name__ == "__main__":
    target = DATA / "index.json"
    if "--check" in sys.argv:
        sys.exit(0 if target.read_text(encoding="utf-8") == build() else f"{target}: not up to date; run {sys.argv[0]}")
    target.write_text(build(), encoding="utf-8")
