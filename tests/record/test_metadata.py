"""What a recording says of itself: once where all norms share it, under the norm's name where they do not."""

from ln_audit import __version__
from ln_audit.record import metadata


def test_one_norm_has_its_facts_under_their_own_keys():
    assert metadata.merged({"a": {"kind": "rms_norm", "gain_value_sha256": "1"}}) == {
        "kind": "rms_norm",
        "gain_value_sha256": "1",
    }


def test_several_norms_share_what_is_the_same_but_no_digest():
    facts = {"kind": "rms_norm", "eps": "1e-06", "gain_value_sha256": "1"}
    assert metadata.merged({"a": facts, "b": facts | {"eps": "1e-05"}}) == {
        "kind": "rms_norm",
        "a/eps": "1e-06",
        "a/gain_value_sha256": "1",
        "b/eps": "1e-05",
        "b/gain_value_sha256": "1",
    }


def test_versions_are_named():
    found = metadata.general(["numpy"], "record on a text")
    assert found["framework"].startswith("numpy ")
    assert (found["ln_audit.recording"], found["made_with"]) == ("1", f"ln-audit {__version__}, record on a text")


def test_a_long_text_is_cut():
    assert metadata.excerpt("a" * 4_000) == "a" * 4_000
    assert metadata.excerpt("a" * 4_001) == "a" * 4_000 + "…"
