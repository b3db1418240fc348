"""What the schedule-speed benchmark measures is what it says: checked steps of real products."""

import pytest

from benchmarks.schedule_speed import chain, measure, schedule
from tuner.ir.visit import stores


@pytest.mark.parametrize("products", [1, 3])
def test_each_product_is_a_nest_under_12_steps(products: int) -> None:
    assert sum(store.reduce == "add" for store in stores(chain(products).body)) == products
    assert len(schedule(products)) == 12 * products


def test_a_row_has_what_the_table_and_the_file_show() -> None:
    row = measure(1, rounds=1).to_json()
    assert (row["schedule_of_products"], row["steps"]) == (1, 12)
    assert row["apply_s"] > 0
    assert row["emit_s"] > 0
