"""What a call asks to be run: one thing, and only with --record where it belongs to that."""

import pytest

from ln_audit.errors import UsageError
from ln_audit.record.asked import recipe, to_record
from ln_audit.record.recipe import Recipe


def test_one_of_three_or_the_least():
    assert recipe(Recipe(text="x"), None) == Recipe(text="x")
    assert recipe(Recipe(tokens="ids"), None, least=64) == Recipe(tokens="ids")
    assert recipe(Recipe(), "10", least=64).random == 10
    assert recipe(Recipe(), None, least=64).random == 64


@pytest.mark.parametrize(
    ("given", "random", "told"),
    [
        (Recipe(), None, "--text, --tokens and --random: expected one of them, found none"),
        (
            Recipe(text="x", tokens="y"),
            None,
            "--text, --tokens and --random: expected one of them, found --text and --tokens",
        ),
        (Recipe(text=""), "5", "--text, --tokens and --random: expected one of them, found --text and --random"),
        (Recipe(), "0", "--random: expected a whole number of tokens above 0, found '0'"),
        (Recipe(), "-5", "--random: expected a whole number of tokens above 0, found '-5'"),
        (Recipe(), "1e3", "--random: expected a whole number of tokens above 0, found '1e3'"),
        (Recipe(), "9" * 5_000, "--random: expected a whole number of tokens above 0, found '99"),
        (Recipe(dtype="int8"), "5", "--dtype: expected one of float32, bfloat16, float16, found 'int8'"),
        (Recipe(norms=("a",), all_norms=True), "5", "--norm and --all-norms: expected one of them, found both"),
    ],
)
def test_a_call_that_contradicts_itself(given, random, told):
    with pytest.raises(UsageError) as caught:
        recipe(given, random)
    assert caught.value.message.startswith(told)


def test_what_belongs_to_record():
    assert to_record(False, Recipe(), None, ["a"]) is None
    assert to_record(True, Recipe(norms=("n",)), None, ["a"]) == Recipe(random=64, norms=("n",))
    for given, random, option in (
        (Recipe(text="x"), None, "--text"),
        (Recipe(), "5", "--random"),
        (Recipe(dtype="float16"), None, "--dtype"),
        (Recipe(device="cpu"), None, "--device"),
    ):
        with pytest.raises(UsageError, match=f"{option}: expected --record, which it belongs to, found none"):
            to_record(False, given, random, ["a"])
    with pytest.raises(UsageError, match="--record: expected a target to run, found none"):
        to_record(True, Recipe(), None, None)
