"""What is published: the same bytes from the same sources, all that is needed in it, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.shared import ROOT

pytest.importorskip("hatchling", reason="hatchling is not installed")
EPOCH = "1700000000"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def tracked() -> list[str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: nobody says which files are the project's")
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    made = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, timeout=60, check=True)
    return [name for name in made.stdout.splitlines() if (ROOT / name).is_file()]


def build(sources: Path, into: Path) -> list[Path]:
    made = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(into)],
        cwd=sources, env=os.environ | {"SOURCE_DATE_EPOCH": EPOCH}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return sorted(into.iterdir())


def copied(into: Path, when: int, mode: int) -> Path:
    """The project's files, with another day and other permissions."""
    for name in tracked():
        path = into / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, path)
        path.chmod(mode)
        os.utime(path, (when, when))
    return into


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("builds")
    first = build(copied(folder / "a" / "source", 1_600_000_000, 0o644), folder / "a" / "dist")
    other = build(copied(folder / "b" / "elsewhere", 1_650_000_000, 0o600), folder / "b" / "dist")
    return first, other


def test_two_builds_of_the_same_sources_are_the_same_bytes(builds):
    first, other = builds
    assert [path.name for path in first] == [path.name for path in other]
    assert [path.suffix for path in first] == [".whl", ".gz"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in other]


def test_the_wheel_of_the_sdist_is_the_wheel(builds, tmp_path):
    wheel, sdist = builds[0]
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    again, _ = build(unpacked, tmp_path / "dist")
    assert again.read_bytes() == wheel.read_bytes()


def test_the_wheel_holds_the_package_and_nothing_else(builds):
    names = set(zipfile.ZipFile(builds[0][0]).namelist())
    package = {name for name in tracked() if name.startswith("ln_audit/")}
    info = {name for name in names if name.partition("/")[0].endswith(".dist-info")}
    assert names - info == package
    assert {name.partition("/")[2] for name in info} == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "licenses/LICENSE",
    }
    for needed in (
        "py.typed",
        "reports/report.schema.json",
        "assets/sample/model.safetensors",
        "families/data/gpt2.toml",
    ):
        assert f"ln_audit/{needed}" in names


def test_the_sdist_holds_what_the_tests_need(builds):
    with tarfile.open(builds[0][1]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "PKG-INFO",
        "pyproject.toml",
        "action.yml",
        "docs/ci.md",
        "tests/test_packaging.py",
        "fixtures/build.py",
    } <= names
    ours = set(tracked())
    assert names - {"PKG-INFO"} <= ours
    folders = ("ln_audit/", "tests/", "fixtures/", "scripts/", "docs/")
    assert {name for name in ours - names if name.startswith(folders)} == set()


def test_metadata_asks_for_the_core_alone(builds):
    with zipfile.ZipFile(builds[0][0]) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith("METADATA"))
        metadata = archive.read(name).decode()
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert sorted(needed) == ["huggingface-hub", "ml-dtypes", "numpy", "rich", "safetensors", "typer"]


DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")


def test_the_dockerfile_copies_files_that_there_are_and_its_context_lets_them_in():
    copies = re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    named = [name for line in copies for name in line.split()]
    assert named == ["pyproject.toml", "README.md", "LICENSE", "ln_audit"]
    allowed = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(allowed) == sorted(named)
    assert [name for name in named if not (ROOT / name).exists()] == []
    project = PROJECT["project"]
    assert {project["readme"], *project["license-files"]} <= set(named)  # which a build of the wheel reads


def test_the_dockerfile_pins_its_base_and_does_not_run_as_root():
    bases = re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)
    assert all(re.fullmatch(r"python:\d+\.\d+\.\d+-slim-\w+", base) for base in bases)
    assert len(set(bases)) == 1
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE) == ["auditor"]
    assert DOCKERFILE.index("useradd") < DOCKERFILE.index("USER auditor") < DOCKERFILE.index('ENTRYPOINT ["ln-audit"]')


def test_what_the_dockerfile_builds_from_is_enough_for_the_same_wheel(builds, tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    for name in tracked():
        if name.startswith("ln_audit/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tmp_path / name)
    wheel = next(path for path in build(tmp_path, tmp_path / "dist") if path.suffix == ".whl")
    assert wheel.read_bytes() == builds[0][0].read_bytes()
