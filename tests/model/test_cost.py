"""Examples and the table of features that are computed once."""

import numpy as np

from tests.space.programs import operator
from tuner.features.table import features
from tuner.model import cost
from tuner.model.cost import FeatureTable, together
from tuner.space.build import space_of
from tuner.target import target

AVX512 = target("cpu-avx512-1t")


def test_features_are_computed_once_for_each_point(monkeypatch):
    program = operator("softmax", rows=8, cols=128)
    space = space_of(program, AVX512)
    points = space.sample(np.random.default_rng(0), 40)
    asked = []

    def counted(program, space, population, target):
        asked.append(len(population))
        return features(program, space, population, target)

    monkeypatch.setattr(cost, "features", counted)
    table = FeatureTable(program, space, AVX512)
    first, again = table.of(points), table.of(points.take(np.arange(39, -1, -1)))
    np.testing.assert_array_equal(first, again[::-1])
    np.testing.assert_array_equal(first, features(program, space, points, AVX512))
    assert asked == [len(set(points.keys()))]


def test_nothing_together_is_nothing():
    assert len(together([])) == 0
