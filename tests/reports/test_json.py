"""One JSON document, ASCII, ending with a newline."""

import json as stdlib_json
from dataclasses import replace

from ln_audit.reports import json
from ln_audit.reports.document import Run, document
from tests.reports.made import REPORT


def test_it_is_the_document_and_nothing_else():
    run = Run((replace(REPORT, not_checked=("<b>\x1b[31m é",)),), 0)
    text = json.render(run)
    assert stdlib_json.loads(text) == stdlib_json.loads(stdlib_json.dumps(document(run)))
    assert text.isascii()
    assert text.endswith("}\n")
