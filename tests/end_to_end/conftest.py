"""One service for all tests that only talk to it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conftest import require
from tests.end_to_end.running import Running, running_up


@pytest.fixture(scope="package")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A running `tilewright up`."""
    require("gcc", "clang")
    with running_up(tmp_path_factory.mktemp("up")) as running:
        yield running
