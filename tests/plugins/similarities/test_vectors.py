"""Rows are compared by the vectors of their words; words without one count as themselves."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import segapsith
from segapsith.errors import ConfigurationError, InputError, PluginError, SettingError, UsageError
from segapsith_plugins.similarities.vectors import Vectors, read_vectors

WORDS = ["river", "flood", "strike", "sarnac", "prime minister"]
GLOVE = b"river 1 0 0\nflood 0.8 0.6 0\nprime 0 0 2\nminister 0 0 4\nstrike 0 1 0\nriver 9 9 9\n"


@pytest.fixture
def glove(tmp_path: Path) -> Path:
    path = tmp_path / "glove.txt"
    path.write_bytes(GLOVE)
    return path


def oracle(left: Any, right: Any, words: dict[str, list[float]], names: list[str]) -> Any:
    """The same by the definition: every word is a vector, those without one an axis of its own."""
    axes = []
    for number, name in enumerate(names):
        own = np.zeros(len(names))
        vector = np.array(words.get(name, [0.0, 0.0, 0.0]))
        if np.any(vector):
            vector = vector / np.linalg.norm(vector)
        else:
            own[number] = 1.0
        axes.append(np.concatenate([vector, own]))
    sums = [rows.toarray() @ np.array(axes) for rows in (left, right)]
    lengths = [np.maximum(np.linalg.norm(s, axis=1), 1e-300) for s in sums]
    return (sums[0] @ sums[1].T) / np.outer(*lengths)


def test_it_is_the_cosine_of_the_summed_vectors(glove: Path) -> None:
    rng = np.random.default_rng(0)
    left, right = (csr_array(rng.integers(0, 3, (6, len(WORDS))).astype(float)) for _ in range(2))
    measure = Vectors(file=str(glove), centred=False)
    measure.name_columns(WORDS)
    words = {
        "river": [1.0, 0.0, 0.0], "flood": [0.8, 0.6, 0.0], "strike": [0.0, 1.0, 0.0],
        "prime minister": [0.0, 0.0, 3.0],
    }  # fmt: skip
    assert np.allclose(measure.compare(left, right), oracle(left, right, words, WORDS))
    assert measure.n_known == 4


def test_words_without_a_vector_are_themselves_or_ignored(glove: Path) -> None:
    row = csr_array(np.array([[0.0, 0.0, 0.0, 2.0, 0.0]]))
    for unknown, value in (("own", 1.0), ("ignored", 0.0)):
        measure = Vectors(file=str(glove), unknown=unknown)
        measure.name_columns(WORDS)
        assert measure.compare(row, row)[0, 0] == value


def test_related_words_make_rows_similar_that_share_none(glove: Path) -> None:
    rows = csr_array(np.array([[1.0, 0, 0, 0, 0], [0, 1.0, 0, 0, 0], [0, 0, 1.0, 0, 0]]))
    measure = Vectors(file=str(glove), centred=False)
    measure.name_columns(WORDS)
    values = measure.compare(rows, rows)
    assert values[0, 1] == pytest.approx(0.8)
    assert values[0, 2] == 0.0


def test_without_a_file_it_is_the_cosine() -> None:
    rows = csr_array(np.random.default_rng(1).random((5, 7)))
    cosine = segapsith.similarity("cosine")
    cosine.learn(rows)
    assert np.allclose(Vectors().compare(rows, rows), cosine.compare(rows, rows))


@pytest.mark.parametrize("head", [b"", b"6 3\n"], ids=["GloVe", "word2vec"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_texts_of_both_programs_are_read(
    head: bytes, pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(pack(head + GLOVE))
    vectors = read_vectors(path, WORDS)
    assert vectors.tolist() == [[1, 0, 0], [0.8, 0.6, 0], [0, 1, 0], [0, 0, 0], [0, 0, 3]]


@pytest.mark.parametrize("line", [b"river 1 zero 0\n", b"river 1 nan 0\n"])
def test_a_line_without_numbers_is_named(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "vectors.txt"
    path.write_bytes(b"rain 1 2 3\n" + line)
    with pytest.raises(InputError, match="line 2"):
        read_vectors(path, WORDS)


def model_folder(folder: Path) -> Path:
    """Writes a model of three words, as model2vec stores one."""
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {"[UNK]": 0, "river": 1, "flood": 2, "strike": 3}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.array([[0, 0], [1, 0], [0.6, 0.8], [0, 1]], dtype=np.float32)
    model2vec.StaticModel(vectors, tokenizer, config={}).save_pretrained(folder)
    return folder


def test_a_folder_of_model2vec_is_read(tmp_path: Path) -> None:
    vectors = read_vectors(model_folder(tmp_path / "model"), WORDS[:4])
    assert np.allclose(vectors, [[1, 0], [0.6, 0.8], [0, 1], [0, 0]])


def test_a_folder_without_the_extra_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(ConfigurationError, match=r"segapsith\[vectors\]"):
        read_vectors(tmp_path, WORDS)


def test_another_folder_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("model2vec")
    with pytest.raises(InputError, match="safetensors"):
        read_vectors(tmp_path, WORDS)


def test_a_missing_file_is_a_wrong_setting() -> None:
    with pytest.raises(SettingError, match="no such file"):
        segapsith.similarity("vectors", file="missing.txt")


def test_columns_must_have_names(glove: Path) -> None:
    rows = csr_array(np.eye(3))
    with pytest.raises((UsageError, PluginError), match="words of the columns"):
        segapsith.similarity("vectors", file=str(glove)).compare(rows, rows)


def test_units_of_a_store_are_clustered_by_vectors(
    command: Callable[..., tuple[int, str, str]], glove: Path
) -> None:
    texts = ["The river rose.", "A flood came.", "Drivers strike.", "The strike goes on."]
    lines = [f'{{"id": "{n}", "lang": "en", "text": "{text}"}}' for n, text in enumerate(texts)]
    Path("wire.jsonl").write_text("\n".join(lines))
    assert command("ingest", "wire.jsonl", "--as-units")[0] == 0
    arguments = ("--similarity", "vectors", "--set", f"vectors.file={glove}", "--clusterer", "ahc")
    code, out, err = command("cluster", *arguments, "-k", "2", "--json")
    assert code == 0, err
    assert '"clusters": 2' in out
    code, _, err = command("topics", "--similarity", "vectors", "--set", f"vectors.file={glove}")
    assert (code, "use it with `segapsith cluster`" in err) == (2, True), err
