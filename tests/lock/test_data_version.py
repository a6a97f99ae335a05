"""The version of a table is what it says, not how it is written."""

from dataclasses import replace

from ln_audit.families.recognise import load
from ln_audit.families.schema import Epsilon
from ln_audit.families.table import parse
from ln_audit.lock.data_version import data_version

TABLE = """
name = "mine"
[sizes.d]
[epsilon]
keys = ["eps"]
[[norm]]
name = "norm"
role = "final"
kind = "rms_norm"
shape = ["d"]
"""


def test_comments_prose_and_defaults_written_out_change_nothing():
    plain = data_version([parse(TABLE, "t")])
    assert plain == data_version([parse(f"# why\ntitle = 'Mine'\nsource = 'a paper'{TABLE}bias = 'none'\n", "t")])
    assert (len(plain), int(plain, 16) >= 0) == (12, True)


def test_what_it_promises_changes_it():
    family = load("gpt2")
    other = replace(family, epsilon=Epsilon(("layer_norm_epsilon",), 1e-6))
    assert len({data_version(each) for each in ([family], [other], [load("llama")], [family, load("llama")])}) == 4
