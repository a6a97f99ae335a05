"""docs/recording.md is true beyond its commands and code (test_pages.py runs those): its tables name the keys that there are."""

import inspect
import re

import ln_audit
from ln_audit.recording.recording import METADATA
from tests.docs.runner.blocks import blocks
from tests.shared import ROOT

PAGE = ROOT / "docs" / "recording.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_every_key_of_the_metadata_is_explained():
    assert [key for key in (*METADATA, "before_rounded") if f"`{key}`" not in TEXT] == []


def test_its_code_asks_capture_for_what_it_takes():
    code = "".join(block.text for block in blocks(PAGE, "docs/recording.md") if block.language == "python")
    asked = set(re.findall(r"(\w+)=", code))
    assert asked == {"all_norms", "kind", "eps", "offset"}
    assert asked <= set(inspect.signature(ln_audit.capture).parameters)
