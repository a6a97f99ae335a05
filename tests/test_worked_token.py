"""The worked token, held against the same arithmetic in plain Python."""

from math import fsum, sqrt

from ln_audit import worked_token
from ln_audit.worked_token import BIAS, EPSILON, GAIN, TOKEN


def numbers_of(label: str) -> list[list[float]]:
    """The rows of the text that begin with `label`, as numbers."""
    rows = [line for line in worked_token.text().splitlines() if line.startswith(f"  {label}  ")]
    return [[float(cell) for cell in row.removeprefix(f"  {label}").split()] for row in rows]


def test_every_printed_step_is_what_plain_arithmetic_gives():
    d = len(TOKEN)
    mu = fsum(TOKEN) / d
    centred = [x - mu for x in TOKEN]
    layer = [c / sqrt(fsum(c * c for c in centred) / d + EPSILON) for c in centred]
    rms = [x / sqrt(fsum(x * x for x in TOKEN) / d + EPSILON) for x in TOKEN]

    def affine(z: list[float]) -> list[float]:
        return [g * value + b for g, value, b in zip(GAIN, z, BIAS, strict=True)]

    def rounded(values: list[float]) -> list[float]:
        return [round(value, 4) for value in values]

    assert numbers_of("x") == [list(TOKEN)]
    assert numbers_of("x − μ") == [rounded(centred)]
    assert numbers_of("z") == [rounded(layer), rounded(rms)]
    assert numbers_of("y = g·z + b") == [rounded(affine(layer)), rounded(affine(rms))]


def test_scaling_leaves_mean_zero_and_variance_one():
    lines = worked_token.text().splitlines()
    assert "  mean of z 0.000000, variance of z 0.999999 = σ²/(σ² + ε)" in lines
    assert "  mean of z 0.390732, mean square of z 0.999999 = mean(x²)/(mean(x²) + ε)" in lines


def test_the_text_names_both_formulas_and_the_statistics_of_the_token():
    text = worked_token.text()
    assert "LayerNorm   y = g·z + b,  z = (x − μ)/√(σ² + ε)" in text
    assert "RMSNorm     the same with μ = 0:  z = x/√(mean(x²) + ε)" in text
    assert "LayerNorm: μ = 1.250000, σ² = 8.671875, 1/√(σ² + ε) = 0.339581" in text
    assert "RMSNorm: mean(x²) = 10.234375, 1/√(mean(x²) + ε) = 0.312586" in text


def test_no_line_is_wider_than_a_terminal_of_120_columns():
    assert max(map(len, worked_token.text().splitlines())) <= 120
