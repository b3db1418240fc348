"""A job's events over SSE: what was missed, what happens, and the end."""

import json
import threading

import pytest

from tests.server.conftest import FakeWorker, failed, ok
from tests.server.queued import queue_candidates


def stream(server, job, after=None):
    """(number, kind, data) of each event until the stream ends."""
    headers = {} if after is None else {"Last-Event-ID": str(after)}
    with server.admin.stream("GET", f"/v1/jobs/{job}/events", headers=headers) as answer:
        assert answer.status_code == 200
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        fields = {}
        for line in answer.iter_lines():
            key, _, value = line.partition(": ")
            if line and not line.startswith(":"):
                fields[key] = value
            elif fields:
                yield int(fields["id"]), fields["event"], json.loads(fields["data"])
                fields = {}


def finished_job(server):
    """A job with five events: queued, running, two trials, and its end."""
    worker, id = FakeWorker(server), server.submit()["id"]
    queue_candidates(server, id, "a", "b")
    worker.report(worker.claim().json(), {"a": ok(2e-3), "b": failed("crash")})
    server.admin.post(f"/v1/jobs/{id}/cancel")
    server.clock.ahead_s = 1000
    return id


def test_a_finished_job_is_replayed_and_the_stream_ends(server):
    events = list(stream(server, finished_job(server)))
    assert [number for number, _, _ in events] == list(range(1, 7))
    kinds = [kind for _, kind, _ in events]
    assert kinds == ["state", "state", "trial", "trial", "state", "done"]
    _, _, trial = events[3]
    assert (trial["candidate"], trial["outcome"], trial["detail"]) == ("b", "crash", "as planted")
    assert trial["trials"] == {"issued": 2, "done": 2, "failed": 1}
    assert events[-1][2]["state"] == "cancelled"


@pytest.mark.parametrize("seen", [0, 3, 5])
def test_a_stream_goes_on_after_the_last_event_that_was_seen(server, seen):
    numbers = [number for number, _, _ in stream(server, finished_job(server), seen)]
    assert numbers == list(range(seen + 1, 7))


def test_a_stream_past_the_end_ends_at_once(server):
    assert list(stream(server, finished_job(server), 6)) == []


@pytest.mark.parametrize("last", ["x", "-1", "1.5"])
def test_a_last_event_that_is_no_number_is_refused(server, last):
    id = server.submit()["id"]
    headers = {"Last-Event-ID": last}
    answer = server.admin.get(f"/v1/jobs/{id}/events", headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (422, "invalid-request")


def test_what_happens_reaches_a_stream_that_waits(server):
    id = server.submit()["id"]
    events = stream(server, id)
    assert next(events)[1] == "state"
    server.admin.post(f"/v1/jobs/{id}/cancel")
    assert [(kind, data["state"]) for _, kind, data in events] == [
        ("state", "cancelled"), ("done", "cancelled"),
    ]  # fmt: skip


def test_streams_that_wait_hold_no_thread_and_no_connection(server):
    """More streams than the server has threads, or its engine connections."""
    id, ended = server.submit()["id"], []

    def follow():
        ended.append([kind for _, kind, _ in stream(server, id)])

    readers = [threading.Thread(target=follow) for _ in range(60)]
    for reader in readers:
        reader.start()
    for _ in range(20):
        assert server.admin.get("/v1/jobs").status_code == 200
    assert ended == []
    server.admin.post(f"/v1/jobs/{id}/cancel")
    for reader in readers:
        reader.join()
    assert ended == [["state", "state", "done"]] * 60
