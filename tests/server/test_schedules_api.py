"""The best schedules over REST, their source and their programs; and the lists of what there is."""

import hashlib

import pytest

import db
from db import jobs
from db.sql_log import SqlLog
from tests.server.conftest import MATMUL, TARGET, failed, ok
from tests.server.queued import queue_candidates
from tuner.log import schedule_id
from tuner.record import BestSchedule
from tuner.schedule.steps import Split, Unroll, schedule_to_json
from tuner.workload.catalogue import OPERATORS

SOURCE = "int tw_0(const float *a) { return a == 0; }\n"
RENAMED = """
def mm(left: f32[4, 4], right: f32[4, 4], out: f32[4, 4]):
    for p, q in grid(4, 4):
        out[p, q] = 0.0
        for r in range(4):
            out[p, q] += left[p, r] * right[r, q]
"""


def best(workload, factor=2, median=1e-3, target=TARGET):
    split = Split(loop="l2", factor=factor, outer="l2o", inner="l2i")
    steps = schedule_to_json((split, Unroll(loop="l2i")))
    return BestSchedule(
        id=schedule_id(workload, target, "f1:x", steps), workload=workload, target=target,
        fingerprint="f1:x", steps=steps, record="r", median_s=median, ci_s=(9e-4, 2e-3),
        source_sha256=hashlib.sha256(SOURCE.encode()).hexdigest(), gflops=1.5, gbytes_per_s=0.5,
        peak_share=0.75, verified=True, prepare_s=2e-3, prepared_bytes=4159,
    )  # fmt: skip


@pytest.fixture
def tuned(server):
    """The hash of a tuned 4×4 matmul, and its two best schedules, fastest first."""
    workload = server.submit()["workloads"][0]["hash"]
    slow, fast = best(workload, 4, 2e-3), best(workload, 2, 1e-3)
    keep(server, slow, fast)
    return workload, [fast, slow]


def keep(server, *schedules):
    database = db.open(server.database_url)
    log = SqlLog(database)
    log.add_source(schedules[0].source_sha256, SOURCE)
    log.set_best(schedules)
    database.close()


def test_the_best_are_found_by_hash(server, tuned):
    workload, (fast, slow) = tuned
    answer = server.admin.get("/v1/schedules/best", params={"workload": workload, "k": 2})
    assert answer.status_code == 200
    items = answer.json()["items"]
    assert [item["id"] for item in items] == [fast.id, slow.id]
    assert (items[0]["median_s"], items[0]["ci_s"]) == (1e-3, [9e-4, 2e-3])
    assert (items[0]["gflops"], items[0]["peak_share"], items[0]["verified"]) == (1.5, 0.75, True)
    assert (items[0]["prepare_s"], items[0]["prepared_bytes"]) == (2e-3, 4159)
    assert items[0]["steps"] == fast.steps
    assert items[0]["source_url"] == f"/v1/schedules/{fast.id}/source"


@pytest.mark.parametrize("asked", [MATMUL, {"program": RENAMED}])
def test_the_best_are_found_by_what_is_computed(server, tuned, asked):
    workload, (fast, _) = tuned
    answer = server.admin.post("/v1/schedules/best", json={**asked, "target": TARGET}).json()
    assert answer["workload"] == workload
    assert [item["id"] for item in answer["items"]] == [fast.id]


def test_what_was_never_tuned_has_no_best(server, tuned):
    workload, _ = tuned
    other = {"op": "matmul", "sizes": {"m": 5, "n": 4, "k": 4}}
    assert server.admin.post("/v1/schedules/best", json=other).json()["items"] == []
    params = {"workload": workload, "target": "cpu-neon-1t"}
    assert server.admin.get("/v1/schedules/best", params=params).json()["items"] == []


def test_an_omitted_target_has_to_be_clear(server, tuned):
    workload, _ = tuned
    keep(server, best(workload, target="cpu-sse2-1t"))
    answer = server.admin.get("/v1/schedules/best", params={"workload": workload})
    assert answer.status_code == 422
    assert "name one: cpu-avx2-1t, cpu-sse2-1t" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("params", "status", "kind"),
    [
        ({}, 422, "invalid-request"),
        ({"workload": "w1:none"}, 404, "not-found"),
        ({"workload": "HASH", "target": "abacus"}, 422, "unknown-target"),
        ({"workload": "HASH", "k": 0}, 422, "invalid-request"),
    ],
)
def test_a_bad_question_by_hash_is_refused(server, tuned, params, status, kind):
    params = {key: tuned[0] if value == "HASH" else value for key, value in params.items()}
    answer = server.admin.get("/v1/schedules/best", params=params)
    assert (answer.status_code, answer.json()["type"]) == (status, kind)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({}, "invalid-request"),
        ({"op": "matmul", "sizes": {"m": 0, "n": 1, "k": 1}}, "unknown-workload"),
        ({"op": "dance"}, "unknown-workload"),
        ({"program": "def f("}, "program-refused"),
        ({**MATMUL, "target": "abacus"}, "unknown-target"),
    ],
)
def test_a_bad_question_by_description_is_refused(shared, body, kind):
    answer = shared.admin.post("/v1/schedules/best", json=body)
    assert (answer.status_code, answer.json()["type"]) == (422, kind)


def test_a_schedule_its_source_and_its_programs_are_shown(server, tuned):
    _, (fast, _) = tuned
    path = f"/v1/schedules/{fast.id}"
    assert server.admin.get(path).json()["id"] == fast.id
    source = server.admin.get(f"{path}/source")
    assert (source.text, source.headers["Content-Type"]) == (SOURCE, "text/x-c; charset=utf-8")
    shown = server.admin.get(f"{path}/program").json()
    assert [stage["step"].partition("(")[0] for stage in shown["stages"]] == ["", "split", "unroll"]
    assert "for l2 in range(4):" in shown["stages"][0]["program"]
    assert "unrolled(2)" in shown["stages"][2]["program"]
    assert shown["names"]["b0"] == "a"


def test_a_schedule_tells_the_lines_that_each_step_changed(server, tuned):
    _, (fast, _) = tuned
    path = f"/v1/schedules/{fast.id}/program"
    assert "diff" not in server.admin.get(path).json()["stages"][1]
    first, split, unroll = server.admin.get(path, params={"diff": "true"}).json()["stages"]
    assert first["diff"] == []
    (loop,) = unroll["diff"]
    assert [line.strip() for line in loop["removed"]] == ["for l2i in range(2):"]
    assert [line.strip() for line in loop["added"]] == ["for l2i in unrolled(2):"]
    before = split["program"].splitlines()
    assert before[loop["before_line"] - 1 :][: len(loop["removed"])] == loop["removed"]


@pytest.mark.parametrize("part", ["", "/source", "/program"])
def test_an_unknown_schedule_is_not_found(shared, part):
    answer = shared.admin.get(f"/v1/schedules/s1:none{part}")
    assert (answer.status_code, answer.json()["type"]) == (404, "not-found")


def test_a_job_shows_the_best_of_its_workloads(server, tuned):
    _, (fast, _) = tuned
    id = server.submit()["id"]
    assert server.job(id)["workloads"][0]["best"] is None
    database = db.open(server.database_url)
    with database.write() as session:
        jobs.workloads_of(session, id)[0].best = fast.id
    database.close()
    assert server.job(id)["workloads"][0]["best"]["id"] == fast.id


def test_operators_tell_their_sizes(shared):
    items = {item["name"]: item for item in shared.admin.get("/v1/ops").json()["items"]}
    assert set(items) == set(OPERATORS)
    assert items["matmul"]["sizes"] == {"m": None, "n": None, "k": None}
    assert items["conv2d"]["sizes"]["stride"] == 1
    assert "f32" in items["softmax"]["dtypes"]


def test_targets_tell_which_have_a_machine(server, worker):
    items = {item["name"]: item for item in server.admin.get("/v1/targets").json()["items"]}
    assert items[TARGET]["live_workers"] == 1
    assert items["cpu-neon-1t"]["live_workers"] == 0
    assert items["cpu-avx512-1t"]["vector_bits"] == 512


def test_workers_are_live_while_they_are_heard_of(server, worker):
    (shown,) = server.admin.get("/v1/workers").json()["items"]
    assert (shown["id"], shown["name"], shown["live"]) == (worker.id, "box", True)
    assert shown["facts"] == {"cores": 2}
    server.clock.ahead_s = 61
    assert server.admin.get("/v1/workers").json()["items"][0]["live"] is False
    worker.beat()
    assert server.admin.get("/v1/workers").json()["items"][0]["live"] is True


def test_workloads_are_listed_in_pages_and_shown(server):
    made = [
        server.submit({"op": "softmax", "sizes": {"rows": rows, "cols": 4}})["workloads"][0]["hash"]
        for rows in (1, 2, 3)
    ]
    first = server.admin.get("/v1/workloads", params={"limit": 2}).json()
    rest = server.admin.get("/v1/workloads", params={"cursor": first["next"]}).json()
    assert [w["hash"] for w in first["items"] + rest["items"]] == sorted(made)
    assert rest["next"] is None
    shown = server.admin.get(f"/v1/workloads/{made[0]}").json()
    assert shown["op"] == "softmax"
    assert shown["sizes"] == {"rows": 1, "cols": 4}
    assert shown["program"].startswith("def program(b0: f32[1, 4]")
    assert shown["flops"] > 0


def test_records_are_filtered_and_paged(server, worker):
    id = server.submit()["id"]
    queue_candidates(server, id, "a", "b", "c")
    worker.report(worker.claim().json(), {"a": ok(), "b": failed("timeout"), "c": ok()})

    def ids(**params):
        answer = server.admin.get("/v1/records", params=params).json()
        return [item["id"] for item in answer["items"]], answer["next"]

    assert ids(job=id) == (["a", "b", "c"], None)
    assert ids(outcome="ok") == (["a", "c"], None)
    assert ids(target="cpu-neon-1t") == ([], None)
    first, cursor = ids(limit=2)
    assert (first, ids(cursor=cursor)) == (["a", "b"], (["c"], None))


@pytest.mark.parametrize("params", [{"colour": "red"}, {"outcome": "odd"}, {"cursor": "!"}])
def test_a_bad_question_for_records_is_refused(shared, params):
    answer = shared.admin.get("/v1/records", params=params)
    assert (answer.status_code, answer.json()["type"]) == (422, "invalid-request")
