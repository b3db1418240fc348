"""The learned cost model: gradient-boosted trees that rank the points of a workload.

It starts from the machine model's scores and learns their errors. Saved as XGBoost's own JSON, with
the version of the features that it reads inside.
"""

from __future__ import annotations

import json

import numpy as np
import xgboost

from tuner.features.table import FEATURE_VERSION, FEATURES
from tuner.model import analytic
from tuner.model.cost import Examples
from tuner.space.knobs import Floats

#: Fewer examples than this teach nothing that the machine model does not know.
MIN_EXAMPLES = 12
#: Newest examples that a fit uses: it must end within a second.
MAX_EXAMPLES = 4000
_ROUNDS = 60
_PARAMETERS = {
    "objective": "rank:pairwise",
    "lambdarank_pair_method": "mean",
    "lambdarank_num_pair_per_sample": 12,
    "lambdarank_normalization": False,
    "tree_method": "hist",
    "max_bin": 64,
    "eta": 0.15,
    "max_depth": 4,
    "min_child_weight": 0.2,
    "subsample": 0.9,
    "colsample_bytree": 0.7,
    "lambda": 1.0,
    "nthread": 1,
    "verbosity": 0,
}
_VERSION = "tilewright_features"


class RankingModel:
    """Trees over the machine model; see tuner.model.cost.CostModel."""

    def __init__(self, booster: xgboost.Booster) -> None:
        booster.set_param({"nthread": 1})
        self._booster = booster

    def scores(self, table: Floats) -> Floats:
        """Higher is faster, [points]."""
        if not len(table):
            return np.empty(0)
        # In place: a DMatrix of a hundred thousand rows takes longer than the trees.
        found = self._booster.inplace_predict(
            table, predict_type="margin", base_margin=_margin(table)
        )
        return np.asarray(found, dtype=np.float64)

    def to_json(self) -> bytes:
        """XGBoost's JSON; `from_json` is its inverse."""
        return bytes(self._booster.save_raw("json"))

    @staticmethod
    def from_json(data: bytes) -> RankingModel:
        """Raises ValueError where `data` is no such model or reads features of another version."""
        try:
            attributes = json.loads(data)["learner"]["attributes"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"not a saved cost model: {error!r}") from None
        version = attributes.get(_VERSION)
        if version != FEATURE_VERSION:
            raise ValueError(f"the model reads features {version}, these are {FEATURE_VERSION}")
        booster = xgboost.Booster()
        booster.load_model(bytearray(data))
        return RankingModel(booster)


def fit(examples: Examples, seed: int) -> RankingModel | None:
    """A model of the newest examples that were timed; None where there are too few.

    A failed trial says nothing about speed and is left out.
    """
    timed = np.flatnonzero(np.isfinite(examples.seconds))[-MAX_EXAMPLES:]
    if len(timed) < MIN_EXAMPLES:
        return None
    names = sorted({examples.group[i] for i in timed})
    group = np.array([names.index(examples.group[i]) for i in timed])
    order = np.argsort(group, kind="stable")
    timed, group = timed[order], group[order]
    table, seconds = examples.table[timed], examples.seconds[timed]
    best = np.array([seconds[group == g].min() for g in range(len(names))])
    data = xgboost.DMatrix(
        table, label=best[group] / seconds, qid=group, base_margin=_margin(table), nthread=1
    )
    booster = xgboost.train({**_PARAMETERS, "seed": seed}, data, num_boost_round=_ROUNDS)
    booster.set_attr(**{_VERSION: FEATURE_VERSION})
    return RankingModel(booster)


def _margin(table: Floats) -> Floats:
    """Where the trees start: the machine model's scores; a factor of two in time is two units."""
    assert table.shape[1] == len(FEATURES)
    return 2.0 * analytic.scores(table)
