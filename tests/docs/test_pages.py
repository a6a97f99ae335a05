"""Every page is true: its commands run and print what is shown, its code runs, its files are the ones that were used."""

import pytest

from tests.docs.runner.blocks import blocks
from tests.docs.runner.pages import PAGES
from tests.docs.runner.session import Session
from tests.shared import ROOT


def run(page, folder, monkeypatch):
    setup = PAGES[page]
    names = setup.fill(folder)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    env = {name: value.format(folder=folder) for name, value in setup.env.items()}
    session = Session(folder, names, env, setup.elsewhere)
    for block in blocks(ROOT / page, page):
        session.run(block)


@pytest.mark.parametrize("page", [page for page, setup in PAGES.items() if not setup.peers])
def test_a_page_does_what_it_says(page, tmp_path, monkeypatch):
    run(page, tmp_path, monkeypatch)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # of torch's exporter
@pytest.mark.parametrize("page", [page for page, setup in PAGES.items() if setup.peers])
def test_a_page_that_runs_a_model_does_what_it_says(page, tmp_path, monkeypatch):
    run(page, tmp_path, monkeypatch)
