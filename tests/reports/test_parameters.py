"""The accounting, as people would write it down."""

from dataclasses import replace

from ln_audit.reports import parameters
from ln_audit.reports.document import Run
from ln_audit.result import NormReport, Parameters
from tests.reports.made import BROKEN, GAIN, NORM, REPORT

BLOCK = NormReport(replace(NORM, name="h.0.ln_1", role="block"), (GAIN,), 4)


def test_the_table_counts_and_measures():
    said = parameters.render(
        Run((replace(REPORT, norms=(BLOCK, *REPORT.norms), parameters=Parameters(8, 12, 1200)),), 0)
    )
    assert (
        said
        == """\
ln_f   layer_norm, 4 wide, epsilon 1e-05 (config.json: layer_norm_epsilon)
  learned gain                   4   ln_f.weight  F32
  learned bias                   4   ln_f.bias  F32
  per-instance total             8   counted from checkpoint tensors
  gain: mean 1.5, standard deviation 0.25, minimum 1 (channel 3), maximum 2 (channel 0)
           1 │▄ █▄│ 2

norm        count     mean    std gain         mean    std bias
h.0.ln_1        4   1.5000 0.2500 ▄ █▄            –      –
ln_f            8   1.5000 0.2500 ▄ █▄            –      –

all norms                         12   2 norms
checkpoint                     1,200   buffers left out, tied tensors once
share of the norms           1.0000%   one in 100

PASS, 1 warning  gpt2 (openai-community/gpt2) at 607a30d783df
"""
    )


def test_histograms_of_a_row_are_small_and_norms_without_bias_have_no_column_for_it():
    wide = replace(GAIN, mean=-0.000123, std=1234.5, histogram=tuple(range(24)))
    rms = NormReport(replace(NORM, name="h.1.ln", role="block", bias=None), (wide,), 4)
    lines = parameters.render(Run((replace(REPORT, norms=(rms,)),), 0)).splitlines()
    assert lines[:2] == ["norm      count     mean    std gain", "h.1.ln        4 -1.2e-04 1.2e+03 ▂▅▆▆▇▇▇█"]


def test_each_of_several_artifacts_is_named_above_its_table():
    said = parameters.render(Run((REPORT, BROKEN), 3))
    assert said.startswith("gpt2\nln_f   layer_norm")
    assert "totals: cannot tell" not in said  # of what could not be opened the verdict says it all
    assert said.endswith("INCOMPLETE  x\n  x: expected a, found b\n  → do this\n\n2 targets: 1 pass, 1 incomplete\n")


def test_what_cannot_be_told_is_said():
    unknown = replace(BROKEN, error=None, parameters=Parameters(reason="unknown family"))
    assert parameters.render(Run((unknown,), 3)).startswith("totals: cannot tell (unknown family)\n\nINCOMPLETE  x\n")


def test_what_could_not_be_opened_has_no_totals():
    assert parameters.render(Run((BROKEN,), 3)) == "INCOMPLETE  x\n  x: expected a, found b\n  → do this\n"


def test_bars_keep_a_single_outlier_visible():
    assert parameters.bars((0, 1, 1000, 0, 30)) == " ▁█ ▄"
