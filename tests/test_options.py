"""Values of options, and the help that belongs to a call."""

import pytest

from ln_audit import options
from ln_audit.cli import app
from ln_audit.errors import UsageError


@pytest.mark.parametrize(("text", "value"), [(None, None), ("1e-5", 1e-5), ("0", 0.0)])
def test_numbers(text, value):
    assert options.number("--eps", text) == value


@pytest.mark.parametrize("text", ["nan", "inf", "", "1e", "1,5"])
def test_what_is_no_finite_number_is_refused(text):
    with pytest.raises(UsageError, match=r"--eps: expected a (finite )?number, found "):
        options.number("--eps", text)


def test_the_help_that_belongs_to_a_call():
    for command in app.registered_commands:
        name = getattr(command.callback, "__name__", "")
        assert options.help_for([name, "--x"]) == f"ln-audit {name} --help"
    assert options.help_for(["--x"]) == options.help_for(["nonsense"]) == "ln-audit --help"


def test_a_call_builds_its_own_command_alone_and_help_or_a_typo_all_of_them():
    names = [getattr(each.callback, "__name__", None) for each in app.registered_commands]

    def built(*words):
        one = options.alone(app, words)
        return [getattr(each.callback, "__name__", None) for each in one.registered_commands], len(
            one.registered_groups
        )

    assert built("verify", "x") == (["verify"], 0)
    assert built("lock", "--help") == (["lock"], 0)
    assert built() == built("--help") == built("verfy") == built("policy", "check") == (names, 1)
