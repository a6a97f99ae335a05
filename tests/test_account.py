"""Statistics, digests and counts of what was read."""

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest

from ln_audit import account
from ln_audit.core import FileUse
from ln_audit.result import CheckpointReport, Parameters
from tests.checks.subject_builder import WHOLE, floats, norm, subject


def test_a_tensor_is_measured_and_both_its_digests_are_taken():
    (entry,) = account.norm_reports(subject(WHOLE, norm(weight_offset=1.0)))
    gain, bias = entry.tensors
    values = WHOLE["ln_f.weight"]
    assert (gain.role, gain.shape, gain.dtype) == ("gain", (4,), "F32")
    assert gain.sha256 == hashlib.sha256(values.tobytes()).hexdigest()
    assert gain.value_sha256 == hashlib.sha256((values + np.float32(1)).tobytes()).hexdigest()
    assert bias.value_sha256 == hashlib.sha256(WHOLE["ln_f.bias"].tobytes()).hexdigest()
    assert gain.mean == pytest.approx(1.3125)
    assert gain.std == pytest.approx(float(values.std(dtype=np.float64)))
    assert (gain.min, gain.max, gain.argmin, gain.argmax) == (0.5, 2.0, 2, 3)
    assert (sum(gain.histogram), entry.parameters) == (4, 8)


def test_what_was_not_read_has_no_statistics():
    (entry,) = account.norm_reports(subject(WHOLE, norm(), read=False))
    assert [(t.sha256, t.mean, t.histogram) for t in entry.tensors] == [(None, None, ())] * 2
    assert entry.parameters == 8


@pytest.mark.parametrize("values", [floats(1, math.nan, 2, 3), floats()])
def test_what_cannot_be_measured_has_digests_only(values):
    (entry,) = account.norm_reports(subject({"ln_f.weight": values}, norm()))
    assert entry.tensors[0].mean is None
    assert entry.tensors[0].sha256 == hashlib.sha256(values.tobytes()).hexdigest()


def test_equal_values_have_no_histogram():
    (entry,) = account.norm_reports(subject({"ln_f.weight": floats(1, 1, 1, 1)}, norm()))
    assert (entry.tensors[0].std, entry.tensors[0].histogram) == (0.0, ())


@pytest.mark.parametrize("values", [[1.0, 1 + 2**-52], [1.7e308, -1.7e308], [1e-323, 0.0]])
def test_where_float64_has_no_bins_between_two_values_there_is_no_histogram(values):
    assert account.histogram(np.array(values)) == ()


def test_values_that_squares_cannot_hold_are_measured_without_a_warning():
    (entry,) = account.norm_reports(subject({"ln_f.weight": np.array([1e300, 1.0, 2.0, 3.0])}, norm()))
    assert (entry.tensors[0].max, entry.tensors[0].std) == (1e300, math.inf)


def test_channels_are_kept_only_for_pictures():
    made = subject(WHOLE, norm())
    drawn = replace(made, demand=replace(made.demand, pictures=True))
    assert [tensor.channels for tensor in account.norm_reports(made)[0].tensors] == [None, None]
    kept = account.norm_reports(drawn)[0].tensors[0].channels
    assert kept is not None
    assert kept.lows == tuple(float(value) for value in WHOLE["ln_f.weight"])


def test_counts_are_null_with_a_reason_where_the_family_is_unknown():
    made = subject(WHOLE, norm(), family=None)
    assert account.parameters(made, account.norm_reports(made)) == Parameters(
        8, None, None, "the family is unknown: buffers and tied tensors are too"
    )


def test_the_final_norms_and_all_norms_are_counted():
    tensors = WHOLE | {
        "h.0.ln_1.weight": floats(1, 2, 3, 4),
        "h.0.ln_1.bias": floats(1, 2, 3, 4),
        "wte.weight": np.ones((2, 4), np.float32),
    }
    made = subject(tensors, norm("h.0.ln_1", role="block", layer=0), norm())
    assert account.parameters(made, account.norm_reports(made)) == Parameters(8, 16, 24)


def test_dtypes_are_counted():
    tensors = WHOLE | {"x": np.ones(2, np.float16)}
    assert account.checkpoint_report(subject(tensors).checkpoint) == CheckpointReport(
        "safetensors", 3, {"F16": 1, "F32": 2}
    )


class Source:
    spec, kind, identity, revision, entry, requests = "gpt2", "hub", "openai-community/gpt2", "c" * 40, None, 6
    used = (FileUse("a", 10, 4), FileUse("b", None, 2))


def test_the_source_says_what_it_cost():
    told = account.source_report(Source())  # type: ignore[arg-type]
    assert (told.spec, told.kind, told.requests, told.bytes_read, told.files) == ("gpt2", "hub", 6, 6, Source.used)


def test_what_was_not_looked_at_is_said():
    block = norm("h.0.ln_1", role="block", layer=0)
    tensors = WHOLE | {"h.0.ln_1.weight": floats(1, 2, 3, 4)}
    lines = list(account.not_checked(subject(tensors, block, norm(), read=False), Source()))  # type: ignore[arg-type]
    assert lines == [
        "values of 2 norms: not read (--values all reads them)",
        "other files of the repository: not listed",
        "every tensor that is no norm: only its name, dtype, shape and place in the file were read",
    ]


def test_of_an_unknown_family_the_other_norms_are_named_as_not_looked_at():
    tensors = WHOLE | {"post_norm.weight": floats(1, 2, 3, 4)}
    made = subject(tensors, norm(), family=None)
    (told,) = [line for line in account.not_checked(made, Source()) if "may be a norm" in line]  # type: ignore[arg-type]
    assert told == "what else may be a norm: post_norm.weight [4]: not looked at, the family is unknown"


def test_what_lies_beside_the_file_that_was_taken_is_named():
    made = subject(WHOLE, norm())
    made = replace(made, checkpoint=replace(made.checkpoint, beside=("pytorch_model.bin",)))
    assert "pytorch_model.bin: not read: model.safetensors was taken" in list(account.not_checked(made, Source()))  # type: ignore[arg-type]
