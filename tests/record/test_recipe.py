"""What a model is run on, as it is told to people."""

import pytest

from ln_audit.record.recipe import Made, Recipe


@pytest.mark.parametrize(
    ("recipe", "told"),
    [
        (Recipe(text="x"), "a text of the caller's"),
        (Recipe(tokens="ids.npy"), "tokens of ids.npy"),
        (Recipe(random=1_000), "1,000 random tokens"),
    ],
)
def test_what_it_reads(recipe, told):
    assert recipe.reads == told


def test_what_was_made_and_what_to_do_with_it():
    made = Made("run.safetensors", 12_345, tuple("abcde"), 64, "torch 2")
    assert made.told("gpt2") == (
        "run.safetensors: 64 positions of a, b, c and 2 more norms, 12,345 bytes (torch 2)\n"
        "  → ln-audit verify gpt2 --recording run.safetensors\n"
    )
