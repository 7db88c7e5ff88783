"""Changes by forms: each is one run, can be undone, and is refused if the page is too old."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from segapsith.api.wire import Wire
from segapsith_store import Store

Digest = Callable[[Path], str]


def last_run(path: Path) -> int:
    return Wire(path).browse.state().run


def post(client: TestClient, path: str, own: Path, **form: object) -> int:
    """Send a form that knows the last run; return the run that it made."""
    answer = client.post(path, data={"run": last_run(own), **{k: str(v) for k, v in form.items()}})
    assert answer.status_code == 303, answer.text
    assert client.get(answer.headers["location"]).status_code == 200
    return last_run(own)


def two(path: Path) -> tuple[int, int]:
    first, second = Wire(path).domains(limit=2, lang="en")
    return first.id, second.id


def test_every_change_is_one_run_that_can_be_undone(
    steering: TestClient, own_path: Path, digest: Digest
) -> None:
    first, second = two(own_path)
    unit = Wire(own_path).domains.show(first).unit_ids[0]
    changes: list[tuple[str, dict[str, object]]] = [
        (f"/domains/{first}/rename", {"label": "Mine"}),
        (f"/domains/{first}/merge", {"with": second}),
        (f"/domains/{first}/split", {"parts": 2}),
        (f"/domains/{first}/retire", {}),
        (f"/domains/{first}/lock", {}),
        (f"/units/{unit}/move", {"domain": second}),
    ]
    for path, form in changes:
        before, run = digest(own_path), last_run(own_path)
        assert post(steering, path, own_path, **form) == run + 1, path
        post(steering, "/undo", own_path, undo=run + 1)
        assert digest(own_path) == before, path


def test_unlocking_and_reopening_are_the_way_back(steering: TestClient, own_path: Path) -> None:
    first, _ = two(own_path)
    for there, back in (("lock", "unlock"), ("retire", "reopen")):
        post(steering, f"/domains/{first}/{there}", own_path)
        assert f"/domains/{first}/{back}" in steering.get(f"/domains/{first}").text
        post(steering, f"/domains/{first}/{back}", own_path)


def test_the_answer_offers_to_undo(steering: TestClient, own_path: Path) -> None:
    first, _ = two(own_path)
    run = post(steering, f"/domains/{first}/rename", own_path, label="A <b>name</b>")
    page = steering.get(f"/domains/{first}?done={run}").text
    assert f'name="undo" value="{run}"' in page
    assert "A &lt;b&gt;name&lt;/b&gt;" in page and "<b>name" not in page


def test_a_page_that_is_too_old_changes_nothing(
    steering: TestClient, own_path: Path, digest: Digest
) -> None:
    first, second = two(own_path)
    known = last_run(own_path)
    post(steering, f"/domains/{first}/rename", own_path, label="By somebody else")
    before = digest(own_path)
    answer = steering.post(f"/domains/{second}/rename", data={"run": known, "label": "Mine"})
    assert answer.status_code == 409
    assert "rename" in answer.text and f"left={known}" in answer.text
    assert digest(own_path) == before and last_run(own_path) == known + 1
    for run in (known + 100, 0):
        assert steering.post(f"/domains/{first}/lock", data={"run": run}).status_code == 409


def test_while_another_process_writes_changes_wait_and_reading_goes_on(
    steering: TestClient, own_path: Path
) -> None:
    known = last_run(own_path)
    with Store.writing(own_path):
        answer = steering.post("/domains/1/rename", data={"run": known, "label": "Mine"})
        assert answer.status_code == 503 and "busy" in answer.text
        assert steering.get("/domains/1").status_code == 200


def test_forgetting_needs_the_id_to_be_typed(
    steering: TestClient, own_path: Path, digest: Digest
) -> None:
    uid = Wire(own_path).domains.show(two(own_path)[0]).document_ids[0]
    before = digest(own_path)
    wrong = steering.post("/forget", data={"run": last_run(own_path), "uid": uid, "typed": "x"})
    assert wrong.status_code == 400 and digest(own_path) == before
    post(steering, "/forget", own_path, uid=uid, typed=uid)
    assert steering.get(f"/stories/{quote(uid, safe='')}").status_code == 404
    assert not Wire(own_path).verify().faults


def test_without_leave_nothing_can_be_changed(client: TestClient, shown_path: Path) -> None:
    form = {"run": last_run(shown_path), "label": "x"}
    answer = client.post("/domains/1/rename", data=form)
    assert answer.status_code == 403 and "--allow-changes" in answer.text
    page = client.get("/domains/1").text
    assert 'method="post"' not in page and "/rename" not in page


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/domains/1/rename", {"run": ""}),
        ("/domains/1/rename", {"run": "-1"}),
        ("/domains/1/rename", {"label": "x" * 300}),
        ("/domains/1/merge", {"with": "x"}),
        ("/domains/1/merge", {"with": ""}),
        ("/domains/1/split", {"parts": "99"}),
        ("/units/1/move", {"domain": "x"}),
        ("/units/1/move", {}),
        ("/undo", {}),
    ],
)
def test_forms_that_make_no_sense_are_refused(
    steering: TestClient, own_path: Path, path: str, form: dict[str, str]
) -> None:
    answer = steering.post(path, data={"run": str(last_run(own_path)), **form})
    assert answer.status_code == 400, answer.text


def test_the_page_of_runs_offers_only_the_last_one(steering: TestClient, own_path: Path) -> None:
    run = post(steering, "/domains/1/lock", own_path)
    offered = re.findall(r'name="undo" value="(\d+)"', steering.get("/runs").text)
    assert offered == [str(run)]
