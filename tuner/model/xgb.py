"""The learned cost model: gradient-boosted trees that rank the points of a workload.

It starts from the machine model's scores and learns their errors. Saved as XGBoost's own JSON, with
the version of the features that it reads, what it was fitted on and how, inside.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import xgboost

from tuner.features.table import FEATURE_VERSION, FEATURES
from tuner.model import analytic
from tuner.model.cost import Examples
from tuner.space.knobs import Floats

#: Fewer examples than this teach nothing that the machine model does not know.
MIN_EXAMPLES = 12
#: Newest examples that a fit uses: it must end within a second (docs/cost-model.md has times).
MAX_EXAMPLES = 8000
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
#: Units of a score that stand for a factor of two in time.
_SCALE = 2.0
#: What is larger, such as an infinite feature, is as good as this to a tree; f32 holds it.
_LARGEST = 1e30
#: Attributes of a saved model.
_VERSION, _EXTENT, _FITTED = (f"tilewright_{name}" for name in ("features", "extent", "parameters"))


class RankingModel:
    """Trees over the machine model; see tuner.model.cost.CostModel."""

    def __init__(self, booster: xgboost.Booster) -> None:
        booster.set_param({"nthread": 1})
        self._booster = booster

    @property
    def extent(self) -> Mapping[str, int]:
        """What it was fitted on: how many timed examples of each group."""
        counts: dict[str, int] = json.loads(self._booster.attr(_EXTENT) or "{}")
        return counts

    @property
    def parameters(self) -> Mapping[str, Any]:
        """How it was fitted: XGBoost's parameters, rounds and seed."""
        given: dict[str, Any] = json.loads(self._booster.attr(_FITTED) or "{}")
        return given

    def scores(self, table: Floats) -> Floats:
        """Higher is faster, [points]; about log2 of the speed, up to a constant."""
        if not len(table):
            return np.empty(0)
        # In place: a DMatrix of a hundred thousand rows takes longer than the trees.
        found = self._booster.inplace_predict(
            _finite(table), predict_type="margin", base_margin=_margin(table)
        )
        return np.asarray(found, dtype=np.float64) / _SCALE

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
        if not {_EXTENT, _FITTED} <= attributes.keys():
            raise ValueError("not a saved cost model: it does not say what it was fitted on")
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
        _finite(table), label=best[group] / seconds, qid=group, base_margin=_margin(table),
        nthread=1,
    )  # fmt: skip
    parameters = {**_PARAMETERS, "seed": seed}
    booster = xgboost.train(parameters, data, num_boost_round=_ROUNDS)
    extent = Counter(examples.group[i] for i in timed)
    booster.set_attr(**{
        _VERSION: FEATURE_VERSION, _EXTENT: json.dumps(extent),
        _FITTED: json.dumps({**parameters, "rounds": _ROUNDS}),
    })  # fmt: skip
    return RankingModel(booster)


def _margin(table: Floats) -> Floats:
    """Where the trees start: the machine model's scores."""
    assert table.shape[1] == len(FEATURES)
    return _SCALE * _finite(analytic.scores(table))


def _finite(values: Floats) -> Floats:
    """XGBoost refuses what f32 does not hold. NaN in a feature stays: it goes its own way."""
    if np.abs(values).max(initial=0.0) <= _LARGEST:
        return values
    return np.clip(values, -_LARGEST, _LARGEST)
