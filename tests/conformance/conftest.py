import pytest

import db
from db.sql_log import SqlLog
from tuner.log import MemoryLog


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def log(request, tmp_path):
    """An empty tuning log of each kind."""
    if request.param == "memory":
        yield MemoryLog()
    elif request.param == "postgresql":
        with request.getfixturevalue("postgres").database() as url:
            yield from _opened(url)
    else:
        url = f"sqlite:///{tmp_path}/t.db"
        db.migrate(url)
        yield from _opened(url)


def _opened(url):
    database = db.open(url)
    yield SqlLog(database)
    database.close()
