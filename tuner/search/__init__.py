"""Search strategies, by the name that a job asks for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tuner.search.evolutionary import Evolutionary
from tuner.search.exhaustive import Exhaustive
from tuner.search.random import Random
from tuner.search.strategy import Strategy
from tuner.space.space import Space

STRATEGIES: dict[str, Callable[[Space, np.random.Generator], Strategy]] = {
    "evolutionary": Evolutionary,
    "exhaustive": Exhaustive,
    "random": Random,
}
