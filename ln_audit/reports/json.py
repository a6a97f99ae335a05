"""`--format json`: one document, valid against the JSON Schema that ships with the package.

{"schema": "ln-audit.report/1", "tool": {"name": "ln-audit", …}, "verdict": "pass", "exit_code": 0, "reports": [ … ]}
"""

from __future__ import annotations

import json

from ln_audit.reports.document import Run, document

NAME = "json"


def render(run: Run) -> str:
    """The document as ASCII JSON, indented, with a newline at the end."""
    return json.dumps(document(run), indent=1, allow_nan=False) + "\n"
