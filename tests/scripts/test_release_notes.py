"""Release notes are the changelog's own words."""

import pytest

import ln_audit
from scripts.release_notes import CHANGELOG, main, notes

TEXT = "# Changelog\n\n## Unreleased\n\n- new\n\n## 0.2.0 - 2026-01-01\n\n### Added\n\n- b\n\n## 0.1.0\n\n- a\n\n## 0.0.1\n"


@pytest.mark.parametrize(
    ("version", "section"),
    [("0.2.0", "### Added\n\n- b\n"), ("v0.2.0", "### Added\n\n- b\n"), ("0.1.0", "- a\n"), ("unreleased", "- new\n")],
)
def test_a_version_has_its_own_section(version, section):
    assert notes(version, TEXT) == section


@pytest.mark.parametrize("version", ["0.3.0", "0.0.1", "0.2", ""])
def test_a_version_without_notes_is_an_error(version):
    with pytest.raises(LookupError, match=r"expected a section .* with notes, found unreleased, 0.2.0, 0.1.0, 0.0.1"):
        notes(version, TEXT)


def test_this_version_has_notes(capsys):
    assert main([ln_audit.__version__]) == 0
    told = capsys.readouterr().out
    assert told.strip() != ""
    assert told in CHANGELOG.read_text()
    assert "\n## " not in told


def test_a_wrong_call_is_told(capsys):
    assert (main([]), main(["9.9.9"])) == (2, 1)
    assert "expected one version" in capsys.readouterr().err
