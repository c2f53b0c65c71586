"""The server over a database of its own address: SQLite and PostgreSQL answer alike."""

from __future__ import annotations

import json
from pathlib import Path

from harness.store.canonical_json import to_json_line
from harness.testing.results import failed_result, ok_result
from tests.presentation.comparison_samples import every_kind
from tests.reporters.alarms.alarm_samples import bisected_step
from tests.server.process import envelope_of, run_server

PAGES = ("/", "/changes?start=", "/commits", "/models", "/coverage", "/alarms", "/compare", "/health", "/metrics")
JSON = {"Content-Type": "application/json"}


def test_results_alarms_and_pages(database_url: str, tmp_path: Path) -> None:
    results = [ok_result(), failed_result(), *every_kind()]
    with run_server(tmp_path, "--database", database_url) as server:
        body = json.dumps({"envelopes": [json.loads(envelope_of(result)) for result in results]})
        outcomes = [server.post("/api/v1/results", data=body, headers=JSON).json()["outcomes"] for _ in range(2)]
        assert [{outcome["status"] for outcome in each} for each in outcomes] == [{201}, {200}]
        for result in results:
            assert server.get(f"/api/v1/results/{result.uid}").content.decode() == to_json_line(result)
        alarm = bisected_step()
        assert server.post("/api/v1/alarms", data=alarm.model_dump_json(), headers=JSON).status_code == 200
        (cell, *_) = server.get("/api/v1/cells").json()["rows"]
        places = (
            *PAGES,
            f"/cells/{cell['cell']['key']}",
            f"/alarms/{alarm.alarm.identity}",
            f"/results/{results[0].uid}",
        )
        assert {place: server.get(place).status_code for place in places} == dict.fromkeys(places, 200)
