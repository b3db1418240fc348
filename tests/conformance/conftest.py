import pytest

import db
from db.sql_log import SqlLog
from tuner.log import MemoryLog


@pytest.fixture(params=["memory", "sql"])
def log(request, tmp_path):
    """An empty tuning log of each kind."""
    if request.param == "memory":
        yield MemoryLog()
        return
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    database = db.open(url)
    yield SqlLog(database)
    database.close()
