"""The door answers --version itself and hands everything else to the command line."""

import sys

from ln_audit import __main__


def test_the_door(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["ln-audit", "--version"])
    assert __main__.main() == 0
    assert capsys.readouterr().out == "ln-audit 0.1.0\n"
    monkeypatch.setattr(sys, "argv", ["ln-audit", "verify", "--version"])
    assert __main__.main() == 2
