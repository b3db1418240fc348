import pytest

import db


@pytest.fixture
def database(tmp_path):
    url = f"sqlite:///{tmp_path}/t.db"
    db.migrate(url)
    database = db.open(url)
    yield database
    database.close()


@pytest.fixture
def session(database):
    with database.write() as session:
        yield session
