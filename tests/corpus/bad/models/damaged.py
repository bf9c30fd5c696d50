"""Models that must be refused, each with the message that must come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.compilers import cases


def tampered(make: Callable[[int], Any], edit: Callable[[Any], None], classes: int = 2) -> Callable[[], Any]:
    """A builder of a fitted model, edited afterwards: the library gives access to its own arrays."""

    def build() -> Any:
        model = cases.fitted(make, classes)
        edit(model)
        return model

    return build


def in_tree(name: str, node: int, value: float, number: int = 3) -> Callable[[Any], None]:
    """Overwrite one entry of one array of a tree of a forest."""
    return lambda model: getattr(model.estimators_[number].tree_, name).__setitem__(node, value)


def first_leaf(model: Any, number: int = 3) -> int:
    return int(np.flatnonzero(model.estimators_[number].tree_.children_left == -1)[0])


def leaf_value(value: float) -> Callable[[Any], None]:
    return lambda model: model.estimators_[3].tree_.value.__setitem__((first_leaf(model), 0, 1), value)


def one_child(model: Any) -> None:
    model.estimators_[3].tree_.children_right[first_leaf(model)] = 1


def set_to(name: str, value: Any) -> Callable[[Any], None]:
    return lambda model: setattr(model, name, value)


def two_outputs() -> Any:
    rows, labels = cases.sample(2)
    return cases.forest(2).fit(rows, np.column_stack([labels, 1 - labels]))


def several_labels(make: Callable[[int], Any]) -> Callable[[], Any]:
    def build() -> Any:
        rows, labels = cases.sample(3)
        return cases.trained(make(2), rows, np.column_stack([labels == 0, labels > 0, labels < 2]).astype(int))

    return build


def smooth_network() -> Any:
    model = cases.relu_network(2)
    return cases.trained(model.set_params(activation="tanh"), *cases.sample(2))


def nearest_neighbours() -> Any:
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier().fit(*cases.sample(2))


def with_another_decision() -> Any:
    from sklearn.ensemble import RandomForestClassifier

    class Cautious(RandomForestClassifier):  # type: ignore[misc]
        """Decides otherwise than its numbers say."""

        def predict(self, X: Any) -> Any:
            return np.zeros(len(X), dtype=int)

    return Cautious(3).fit(*cases.sample(2))


def patched() -> Any:
    model = cases.fitted(cases.logistic, 2)
    model.predict = lambda rows: np.zeros(len(rows), dtype=int)
    return model


def network_of_one_class() -> Any:
    rows, labels = cases.sample(2)
    return cases.trained(cases.relu_network(2), rows, labels * 0)


# name -> (builder, a part of the message)
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "child out of range": (
        tampered(cases.forest, in_tree("children_left", 0, 999)),
        "RandomForestClassifier is damaged: tree 3, node 0 has its left child out of range (999)",
    ),
    "child below zero": (
        tampered(cases.forest, in_tree("children_right", 1, -7)),
        "tree 3, node 1 has its right child out of range (-7)",
    ),
    "cycle to the root": (
        tampered(cases.forest, in_tree("children_left", 1, 0)),
        "tree 3, node 0 is the root and a child as well: a cycle",
    ),
    "cycle below the root": (
        tampered(cases.forest, in_tree("children_right", 0, 1)),
        "tree 3, node 1 is reached from several nodes, or twice from one: a cycle or a shared branch",
    ),
    "loop onto itself": (
        tampered(cases.forest, in_tree("children_left", 2, 2)),
        "tree 3, node 2 is reached from several nodes, or twice from one",
    ),
    "one child only": (tampered(cases.forest, one_child), "has one child only"),
    "threshold that is no number": (
        tampered(cases.forest, in_tree("threshold", 0, np.nan)),
        "tree 3, node 0 has a threshold that is not finite (nan)",
    ),
    "infinite threshold": (
        tampered(cases.forest, in_tree("threshold", 0, -np.inf)),
        "tree 3, node 0 has a threshold that is not finite (-inf)",
    ),
    "column out of range": (
        tampered(cases.forest, in_tree("feature", 0, 5)),
        "tree 3, node 0 tests a column beyond the 5 known (5)",
    ),
    "leaf value that is no number": (tampered(cases.forest, leaf_value(np.nan)), "has a leaf value that is not finite"),
    "no trees": (
        tampered(cases.forest, set_to("estimators_", [])),
        "RandomForestClassifier is damaged: it has no trees",
    ),
    "tree that is none": (tampered(cases.tree, set_to("tree_", object())), "tree 0 has no readable arrays"),
    "classes that do not fit the leaves": (
        tampered(cases.tree, set_to("classes_", np.array([0, 1, 2]))),
        "tree 0 has value of shape",
    ),
    "a class twice": (tampered(cases.tree, set_to("classes_", np.array([1, 1]))), "its classes are (1, 1)"),
    "columns that do not fit": (
        tampered(cases.logistic, set_to("n_features_in_", 4)),
        "LogisticRegression is damaged: coef_ has shape (1, 5), expected (1, 4)",
    ),
    "number of columns that is none": (
        tampered(cases.logistic, set_to("n_features_in_", -1)),
        "LogisticRegression is damaged: n_features_in_ is -1",
    ),
    "coefficient that is no number": (
        tampered(cases.logistic, lambda model: model.coef_.__setitem__((0, 2), np.nan)),
        "LogisticRegression is damaged: coef_[0, 2] is nan",
    ),
    "coefficients that are objects": (
        tampered(cases.logistic, set_to("coef_", np.array([["a"] * 5]))),
        "LogisticRegression is damaged: coef_ holds <U1, not numbers",
    ),
    "layers that do not fit": (
        tampered(cases.relu_network, lambda model: model.coefs_.__setitem__(1, np.ones((9, 10)))),
        "MLPClassifier is damaged: coefs_[1] has shape (9, 10), expected (10, 10)",
    ),
    "layer without bias": (
        tampered(cases.relu_network, lambda model: model.intercepts_.pop()),
        "MLPClassifier is damaged: 3 weight matrices, 2 biases",
    ),
    "forest not fitted": (lambda: cases.forest(2), "this RandomForestClassifier is not fitted: it has no estimators_"),
    "tree not fitted": (lambda: cases.tree(2), "this DecisionTreeClassifier is not fitted: it has no tree_"),
    "linear model not fitted": (lambda: cases.logistic(2), "this LogisticRegression is not fitted: it has no coef_"),
    "network not fitted": (lambda: cases.relu_network(2), "this MLPClassifier is not fitted: it has no coefs_"),
    "two outputs": (two_outputs, "RandomForestClassifier decides 2 outputs at once, which is not supported"),
    "several labels, linear": (several_labels(cases.ridge), "RidgeClassifier decides several labels a row"),
    "several labels, network": (several_labels(cases.relu_network), "MLPClassifier decides several labels a row"),
    "one class, network": (network_of_one_class, "MLPClassifier knows one class only, 0"),
    "smooth activation": (smooth_network, "MLPClassifier has hidden layers with activation 'tanh'"),
    "class not supported": (
        nearest_neighbours,
        "models of class sklearn.neighbors.KNeighborsClassifier are not supported\nIts votes depend on",
    ),
    "class instead of a model": (lambda: type(cases.tree(2)), "DecisionTreeClassifier is a class, not a trained model"),
    "something else": (lambda: {"weights": [1, 2]}, "models of class dict are not supported"),
    "subclass with its own decision": (with_another_decision, "Cautious has its own `predict`"),
    "object with its own decision": (patched, "LogisticRegression has its own `predict`"),
}
