"""The house rules on the sources themselves: who imports whom, what is never used, what is never said."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from importlinter.cli import lint_imports

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "segapsith": ROOT / "segapsith",
    "segapsith_plugins": ROOT / "plugins" / "segapsith_plugins",
    "segapsith_reproduce": ROOT / "plugins" / "segapsith_reproduce",
    "segapsith_store": ROOT / "store" / "segapsith_store",
}


def modules() -> Iterator[tuple[str, Path]]:
    """Every module of the packages: its dotted name and its file."""
    for package, folder in PACKAGES.items():
        for path in sorted(folder.rglob("*.py")):
            inner = path.relative_to(folder).with_suffix("").parts
            yield ".".join([package, *inner]).removesuffix(".__init__"), path


@functools.cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@functools.cache
def nodes(tree: ast.AST) -> tuple[ast.AST, ...]:
    """All nodes of a tree; several tests look at all of them."""
    return tuple(ast.walk(tree))


def sources() -> list[Path]:
    """What is shipped or run: the packages and the scripts, not the tests."""
    return [path for _, path in modules()] + sorted((ROOT / "scripts").glob("*.py"))


def contracts() -> list[dict[str, object]]:
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    found: list[dict[str, object]] = configuration["tool"]["importlinter"]["contracts"]
    return found


# -- who imports whom ------------------------------------------------------------------------


def test_packages_depend_downwards_without_cycles(
    capsys: pytest.CaptureFixture[str],
) -> None:
    status = lint_imports(config_filename=str(ROOT / "pyproject.toml"), no_cache=True, no_logo=True)
    assert status == 0, capsys.readouterr().out


def test_the_layers_are_few_enough_to_remember() -> None:
    layers = next(c["layers"] for c in contracts() if c["type"] == "layers")
    assert len(layers) <= 8  # type: ignore[arg-type]  # a table of TOML


def test_every_package_of_the_core_has_its_layer() -> None:
    layers = next(c["layers"] for c in contracts() if c["type"] == "layers")
    placed = {name for layer in layers for name in re.findall(r"[\w.]+", str(layer))}  # type: ignore[attr-defined]  # a table of TOML
    packages = {".".join(name.split(".")[:2]) for name, _ in modules()} - set(PACKAGES)
    core = {name for name in packages if name.startswith("segapsith.")}
    doors = {"segapsith.__main__", "segapsith.compare", "segapsith.metrics"}
    assert core - placed == doors, "name them in [tool.importlinter] of pyproject.toml"


def test_plugins_of_a_kind_share_only_modules_with_an_underscore() -> None:
    wrong = []
    for name, path in modules():
        kind, _, own = name.removeprefix("segapsith_plugins.").partition(".")
        if not name.startswith("segapsith_plugins.") or not own:
            continue
        for _, imported in _imports(parsed(path)):
            _, _, other = imported.partition(f"segapsith_plugins.{kind}.")
            if other and not other.startswith("_"):
                wrong.append(f"{name} imports {imported}")
    assert wrong == []


SQL = re.compile(
    r"\b(SELECT|INSERT (OR \w+ )?INTO|DELETE FROM|UPDATE \w+ SET|CREATE (TABLE|INDEX|TRIGGER)|PRAGMA"
    r"|WHERE|JOIN|ORDER BY|GROUP BY|IS (NOT )?NULL)\b"
)


def _spoken(tree: ast.AST) -> Iterator[ast.Constant]:
    """The strings of a module, docstrings aside."""
    docstrings = {
        id(node.value)
        for node in nodes(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in nodes(tree):
        text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if text and id(node) not in docstrings:
            yield cast("ast.Constant", node)


def test_only_the_store_speaks_sql() -> None:
    spoken = [
        f"{name}:{node.lineno}: {node.value}"
        for name, path in modules()
        if not name.startswith("segapsith_store")
        for node in _spoken(parsed(path))
        if SQL.search(node.value)
    ]
    assert spoken == []


MOST_MODULES = 20
"""Of a folder, the command line excepted: it has one file per command."""


def test_no_folder_is_crowded() -> None:
    crowded = {
        str(folder.relative_to(ROOT)): len(list(folder.glob("*.py")))
        for root in PACKAGES.values()
        for folder in [root, *(p for p in root.rglob("*") if p.is_dir())]
        if folder.name != "cli" and len(list(folder.glob("*.py"))) > MOST_MODULES
    }
    assert crowded == {}
    assert len(list(PACKAGES["segapsith"].glob("*.py"))) <= 10


LOW = {
    *("Agreement", "Annotation", "Document", "Lexicon", "Network", "Reject", "Snapshot", "Unit"),
    *("Compare", "Labels", "Matrix", "Rows", "State", "SegapsithError", "hookimpl", "__version__"),
}
"""Names of the front door that lead to the lowest rooms."""


def test_nobody_inside_goes_round_by_the_front_door() -> None:
    """`from segapsith import similarity` would reach the top floor without the linter seeing it."""
    wrong = []
    rooms = {name.split(".")[1] for name, _ in modules() if name.startswith("segapsith.")}
    for name, path in modules():
        if name == "segapsith":
            continue
        for node in nodes(parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module == "segapsith":
                asked = {alias.name for alias in node.names}
                wrong += [f"{name}: {n}" for n in sorted(asked - LOW - rooms)]
            elif isinstance(node, ast.Import):
                wrong += [f"{name}: the package" for a in node.names if a.name == "segapsith"]
    assert wrong == []


# -- what the Python API returns ---------------------------------------------------------------

UNTYPED = re.compile(r"dict\[str, Any\]")


def _public_functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Functions of a module and methods of its public classes, without those that begin with _."""
    scopes = [("", tree.body)]
    scopes += [
        (f"{node.name}.", node.body)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    for scope, body in scopes:
        for node in body:
            if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                yield f"{scope}{node.name}", node


def test_no_call_of_the_python_api_returns_an_untyped_dict() -> None:
    """`factory` makes parts for the API; its functions are not calls of it."""
    untyped = [
        f"{path.name}: {name}"
        for path in sorted((PACKAGES["segapsith"] / "api").glob("*.py"))
        if path.name != "factory.py"
        for name, function in _public_functions(parsed(path))
        if function.returns is not None and UNTYPED.search(ast.unparse(function.returns))
    ]
    assert untyped == []


def test_every_keyword_of_the_python_api_has_a_type() -> None:
    """Settings of plugins aside: their names are not known here, their values are JSON."""
    untyped = [
        f"{path.name}: {name}"
        for path in sorted((PACKAGES["segapsith"] / "api").glob("*.py"))
        for name, function in _public_functions(parsed(path))
        if function.args.kwarg is not None
        and ast.unparse(function.args.kwarg.annotation or ast.Name("Any")) == "Any"
    ]
    assert untyped == []


# -- the tests mirror the packages -------------------------------------------------------------

TESTS_OF = {
    "segapsith": ROOT / "tests",
    "segapsith_plugins": ROOT / "tests" / "plugins",
    "segapsith_reproduce": ROOT / "tests" / "reproduce",
    "segapsith_store": ROOT / "tests" / "store",
}

OF_THE_WHOLE = ("promises", "project", "typing", "samples", "third_party")
"""Folders of tests that belong to no package."""

OF_A_PACKAGE = {
    "web/test_browser.py",
    "test_architecture.py",
    "test_public_names.py",
    "operations/test_thirty_nights.py",
    "store/queries/test_contract.py",
    "store/queries/test_snapshots.py",
    "store/test_written_before.py",
}
"""Test files about several modules of a package; this may only shrink."""

SMALL = 40
"""Lines of code up to which a module may be tested by what uses it."""

TESTED_BY_OTHERS = {
    f"{package}.{name}"
    for package, names in {
        "segapsith": "errors limits",
        "segapsith.api": ("classification clustering comparison learning network reporting wire"),
        "segapsith.cli": (
            "classify cluster compare explain feeds forget network options segment show tune update"
        ),
        "segapsith.engine": "arrivals classify reading reference_corpus state",
        "segapsith.plugin": "contracts hookspecs",
        "segapsith.report.charts": "gauges",
        "segapsith_plugins": "_sparse_rows _views",
        "segapsith_plugins.annotators": "_words",
        "segapsith_plugins.clusterers": (
            "_co_clusters _entropy_kernels _entropy_search _row_algebra"
        ),
        "segapsith_plugins.segmenters": (
            "_cohesion_curve _network_units _valleys _word_spaces lcp"
        ),
        "segapsith_plugins.similarities": "_co_similarity _learned_rows _word_matrices",
        "segapsith_plugins.sources": "_json_values _news_xml",
        "segapsith_reproduce": "data_sets month segmentation_baselines",
        "segapsith_store": ("connections feed_states pair_runs schema verify writing"),
        "segapsith_store.queries": "nights targets topics",
    }.items()
    for name in names.split()
}
"""Modules of more lines without a test file of their name; this may only shrink."""


def home_of_tests(module: str) -> Path:
    """Return the file that tests a module or a package.

    >>> home_of_tests("segapsith_plugins.sources._dates").relative_to(ROOT).as_posix()
    'tests/plugins/sources/test_dates.py'
    """
    package, *inner = module.split(".")
    if not inner:
        return TESTS_OF[package] / f"test_{package}.py"
    return TESTS_OF[package].joinpath(*inner[:-1], f"test_{inner[-1].lstrip('_')}.py")


def lines_of_code(tree: ast.Module) -> int:
    """Count the lines of a module on which code starts or goes on; docstrings and comments aside."""
    docstrings = {
        id(node.value)
        for node in nodes(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    lines: set[int] = set()
    for node in nodes(tree):
        if isinstance(node, ast.expr | ast.arg | ast.keyword | ast.alias):
            if id(node) not in docstrings:
                lines |= {node.lineno, node.end_lineno or node.lineno}
        elif isinstance(node, ast.stmt) and not isinstance(node, ast.Expr):
            lines.add(node.lineno)
    return len(lines)


def test_lines_of_code_are_neither_blank_nor_docstrings_nor_comments() -> None:
    text = '"""Two\nlines."""\n\n# why\ndef f(\n    a,\n):\n    """One."""\n    return a  # so\n'
    assert lines_of_code(ast.parse(text)) == 3


def test_every_test_file_has_the_name_of_a_module() -> None:
    named = {home_of_tests(name) for name, _ in modules()}
    nameless = {
        path.relative_to(ROOT / "tests").as_posix()
        for path in (ROOT / "tests").rglob("test_*.py")
        if path.relative_to(ROOT / "tests").parts[0] not in OF_THE_WHOLE and path not in named
    }
    assert nameless == OF_A_PACKAGE, "rename what is new; take off the list what is gone"


def test_every_module_has_a_test_file_of_its_name() -> None:
    """A package without a folder of tests is tested as a whole by a file of its name."""
    untested = set()
    for name, path in modules():
        own, package = home_of_tests(name), home_of_tests(name.rpartition(".")[0] or name)
        as_a_whole = package.exists() and not list(own.parent.glob("test_*.py"))
        if path.name != "__init__.py" and not own.exists() and not as_a_whole:
            untested |= {name} if lines_of_code(parsed(path)) > SMALL else set()
    assert untested - TESTED_BY_OTHERS == set(), "write tests of their own"
    assert untested == TESTED_BY_OTHERS, "take off TESTED_BY_OTHERS what has tests now"


# -- how long and wide a function may be ---------------------------------------------------------


def limits_exceeded(files: list[str], lint: dict[str, Any]) -> dict[str, list[str]]:
    """Return by file the rules that ruff finds broken, whatever pyproject.toml exempts."""
    answer = subprocess.run(
        [
            *(sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero"),
            *("--select", "C901,PLR0913", "--output-format", "json"),
            *("--config", f"lint.mccabe.max-complexity={lint['mccabe']['max-complexity']}"),
            *("--config", f"lint.pylint.max-args={lint['pylint']['max-args']}"),
            *files,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rules: dict[str, set[str]] = {}
    for place in json.loads(answer.stdout):
        name = Path(place["filename"]).relative_to(ROOT).as_posix()
        rules.setdefault(name, set()).add(place["code"])
    return {name: sorted(codes) for name, codes in rules.items()}


def test_exceptions_to_the_limits_of_functions_are_still_needed() -> None:
    """A function above the limits is an error of the linter, unless its file is listed."""
    lint = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["ruff"]["lint"]
    assert {"C901", "PLR0913"} <= set(lint["extend-select"])
    assert lint["mccabe"]["max-complexity"] <= 15 and lint["pylint"]["max-args"] <= 8
    exempt = {name: own for name, own in lint["per-file-ignores"].items() if "*" not in name}
    assert limits_exceeded(list(exempt), lint) == exempt, "copy the left side to per-file-ignores"


# -- what is never used ----------------------------------------------------------------------

UNSAFE_MODULES = {"pickle", "cPickle", "dill", "cloudpickle", "marshal", "shelve", "joblib"}
UNSAFE_CALLS = {"eval", "exec", "__import__"}
UNSAFE_METHODS = {"extractall", "unpack_archive"}
UNSAFE_OF = {("yaml", "load"), ("os", "system"), ("os", "popen"), ("subprocess", "getoutput")}
UNSAFE_FLAGS = {"shell", "allow_pickle"}
XML_PARSERS = ("lxml", "defusedxml", "xml.etree", "xml.dom", "xml.sax", "xml.parsers", "pyexpat")
WRITES_XML = ("xml.sax.saxutils",)


def _imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _unsafe(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for line, name in _imports(tree):
        if name.partition(".")[0] in UNSAFE_MODULES:
            yield line, f"import {name}"
    for node in nodes(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in UNSAFE_CALLS:
            yield node.lineno, f"{called.id}()"
        if isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            if called.attr in UNSAFE_METHODS or (owner, called.attr) in UNSAFE_OF:
                yield node.lineno, f"{owner}.{called.attr}()"
        for keyword in node.keywords:
            off = isinstance(keyword.value, ast.Constant) and not keyword.value.value
            if keyword.arg in UNSAFE_FLAGS and not off:
                yield node.lineno, f"{keyword.arg}="


@pytest.mark.parametrize(
    "line",
    [
        "import pickle",
        "from joblib import load",
        "eval(x)",
        "exec(x)",
        "yaml.load(x)",
        "subprocess.run(x, shell=True)",
        "np.load(x, allow_pickle=True)",
        "archive.extractall(x)",
        "os.system(x)",
    ],
)
def test_the_search_for_unsafe_calls_finds_them(line: str) -> None:
    assert list(_unsafe(ast.parse(line)))


def test_sources_use_no_pickle_no_eval_no_shell_and_no_blind_unpacking() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path in sources()
        for line, what in _unsafe(parsed(path))
    ]
    assert found == []


def test_xml_is_parsed_in_one_module() -> None:
    parsing = {
        name
        for name, path in modules()
        for _, imported in _imports(parsed(path))
        if imported.startswith(XML_PARSERS) and not imported.startswith((*WRITES_XML, "xml.sax."))
    }
    assert len(parsing) <= 1, sorted(parsing)


# -- a quick start ---------------------------------------------------------------------------

HEAVY = ("numpy", "scipy", "spacy", "numba", "sqlite_utils", "rich", "sklearn", "jinja2", "pandas")

_ASK = """
import contextlib, io, json, sys
from segapsith.cli import main
with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.suppress(SystemExit):
    main(json.loads(sys.argv[1]))
print(json.dumps([len(out.getvalue()), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


@pytest.mark.parametrize("arguments", [["--help"], ["ingest", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _ASK, json.dumps(arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    said, loaded = json.loads(answer.stdout)
    assert said > 0
    assert [name for name in HEAVY if name in loaded] == []


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import json, sys, segapsith; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert [name for name in HEAVY if name in json.loads(answer.stdout)] == []


def test_reading_a_store_does_not_load_sqlite_utils() -> None:
    """It imports pandas where that is installed; only a schema change needs it."""
    code = "import json, sys, segapsith_store; print(json.dumps(sorted(sys.modules)))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert {"sqlite_utils", "pandas"}.isdisjoint(json.loads(answer.stdout))


# -- what is never said ----------------------------------------------------------------------

# Spelled in pieces, so that this file does not find itself.
REGISTRIES = re.compile(r"py" r"pi\.org|python" r"hosted\.org|ana" r"conda\.org|npm" r"js\.")
MACHINE_PATHS = re.compile(r"(?<![\w./:~$}-])/(?:wor" r"k|op" r"t|ro" r"ot|Use" r"rs)/\w")


def written_files() -> list[Path]:
    """Every file that is in the repository, or would be with the next commit."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("this is not a clone: git does not know which files belong to it")
    names = listed.stdout.decode().split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


@functools.cache
def written_texts() -> dict[Path, str]:
    return {path: path.read_text("utf-8", "replace") for path in written_files()}


@pytest.mark.parametrize("pattern", [REGISTRIES, MACHINE_PATHS], ids=["registries", "paths"])
def test_no_file_names_a_package_registry_or_somebodys_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        for path, text in written_texts().items()
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_nothing_generated_is_kept_under_version_control() -> None:
    ignored = {".db", ".pyc", ".whl", ".nbi", ".nbc"}
    kept = [p for p in written_files() if p.suffix in ignored or "__pycache__" in p.parts]
    assert kept == []


# -- names of plugins ------------------------------------------------------------------------

PLUGIN_NAMES = re.compile(
    r"(?<![\w-])(eq7|entropy-kmeans|spherical-kmeans|ahc|gvsm-\w+|simplemma|segcohlex|chi-sim|mvsim"
    r"|mvkm|lsa|cosine)(?![\w-])"
)


def test_the_core_names_plugins_in_the_settings_alone() -> None:
    """Examples in help texts aside; what recommends a plugin asks the catalogue.

    An estimator of scikit-learn is the adapter of one plugin, which it names. The version of an
    installed library is asked by the name of the library.
    """
    named = []
    for name, path in modules():
        own = name.startswith(("segapsith.", "segapsith_store."))
        adapts = name.startswith("segapsith.sklearn.")
        if not own or adapts or name == "segapsith.settings.sections":
            continue
        tree = parsed(path)
        texts = {
            id(node.value)
            for node in nodes(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        texts |= {
            id(node.args[0])
            for node in nodes(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "metadata.version"
        }
        named += [
            f"{name}:{node.lineno}: {node.value}"
            for node in nodes(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in texts
            and PLUGIN_NAMES.search(node.value)
        ]
    assert named == []


# -- names -------------------------------------------------------------------------------------

VAGUE_NAMES = {"found", "told", "said", "kept", "chosen"}
"""Participles that do not tell what a variable holds."""


def vague_variables(tree: ast.Module) -> list[int]:
    """Return the lines that bind a vague name; fields and options may be adjectives."""
    fields = {
        statement.target
        for definition in nodes(tree)
        if isinstance(definition, ast.ClassDef)
        for statement in definition.body
        if isinstance(statement, ast.AnnAssign)
    }
    return [
        node.lineno
        for node in nodes(tree)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Store)
        and node.id in VAGUE_NAMES
        and node not in fields
    ]


def test_the_search_for_vague_names_finds_variables_and_no_fields() -> None:
    source = "class A:\n    kept: bool\ndef f():\n    found = 1\n    for told in (): pass\n"
    assert vague_variables(ast.parse(source)) == [4, 5]


def test_variables_have_the_name_of_what_they_hold() -> None:
    places = {name: lines for name, path in modules() if (lines := vague_variables(parsed(path)))}
    assert places == {}
