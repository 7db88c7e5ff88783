"""The evening of docs/plugins/tutorial.md, command by command, up to a package that is installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "plugins" / "tutorial.md"
PROGRAMS = {"pip": "pip", "pytest": "pytest", "segapsith": "segapsith"}


def environment(folder: Path) -> dict[str, str]:
    """Make an environment of its own that sees what the tests see; no network is used."""
    venv.create(folder, with_pip=False, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    seen = sysconfig.get_paths()["purelib"]
    (packages / "seen.pth").write_text(f"import site; site.addsitedir({seen!r})\n", "utf-8")
    for name, module in PROGRAMS.items():
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m {module} "$@"\n', "utf-8")
        program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return kept | {
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PIP_NO_INDEX": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # the name and the value mean: build without isolation
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="the page is for a POSIX shell")
def test_the_evening_of_the_page_ends_with_an_installed_package(tmp_path: Path) -> None:
    given = environment(tmp_path / "env")
    page = PAGE.read_text("utf-8")
    blocks = re.findall(r"^```(sh|python)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert [kind for kind, _ in blocks] == ["sh", "python", "sh", "sh", "sh"]
    folder, printed = tmp_path, []
    for kind, block in blocks:
        if kind == "python":
            (folder / "src" / "segapsith_overlap_share" / "__init__.py").write_text(block, "utf-8")
            block = "pytest\n"
        block = block.replace("python -m build", "python -m build --no-isolation")
        done = subprocess.run(
            ["bash", "-ec", f"{block}\npwd"],
            cwd=folder, env=given, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (block, done.stdout[-2000:], done.stderr[-2000:])
        *lines, last = done.stdout.splitlines()
        folder = Path(last)
        printed.append("\n".join(lines))
    first, own, checked, used, published = printed
    for tested in (first, own):
        assert " 15 passed" in tested and "the 15 checks" in page
    assert "15 of 15 checks passed" in checked
    assert "191 read" in used
    assert sorted(one.suffix for one in (folder / "dist").iterdir()) == [".gz", ".whl"]
    assert re.search(r"overlap-share\s.*segapsith-overlap-share", published)
    (packages,) = (tmp_path / "env").glob("lib/python*/site-packages")
    assert (packages / "segapsith_overlap_share" / "__init__.py").exists(), "not only a link"
