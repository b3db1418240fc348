import pytest

import db


@pytest.fixture
def database(database_url):
    database = db.open(database_url)
    yield database
    database.close()


@pytest.fixture
def session(database):
    with database.write() as session:
        yield session
