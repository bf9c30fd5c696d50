"""Trees of ONNX of every mode: every row goes where onnxruntime sends it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mace.compilers import load_model, read
from mace.errors import ModelError
from mace.tables.table import Ensemble, decision_of
from tests.compilers import families
from tests.compilers.cases import enclosure
from tests.compilers.onnx_trees import KINDS, MAKERS, NUMBERS, Drawn, classifier, flat, regressor, rows_for, trees


def said_by_runtime(model: Any, rows: Any) -> list[Any]:
    """What onnxruntime makes of rows of float32; without it, ONNX's reference evaluator, which differs on NaN."""
    try:
        import onnxruntime
    except ImportError:
        from onnx.reference import ReferenceEvaluator

        return list(ReferenceEvaluator(model).run(None, {"x": rows}))
    return list(onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": rows}))


@pytest.mark.parametrize("maker", list(MAKERS))
@pytest.mark.parametrize("kind", list(KINDS))
def test_every_mode_sends_a_row_where_the_runtime_does(kind: str, maker: str) -> None:
    pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    for seed, numbers in enumerate(NUMBERS):
        rng = np.random.default_rng(seed)
        drawn = trees(rng, kind, numbers)
        model = MAKERS[maker](drawn)
        table = read(model)
        assert isinstance(table, Ensemble)
        # 9,000 rows of any numbers, and 2,000 on and around those that are compared with.
        plain = rng.normal(size=(3000, 3)).astype(np.float32) * [1, 2, 0.5]
        rows = np.concatenate([plain.astype(np.float32), rows_for(rng, numbers, 700)])
        said = said_by_runtime(model, rows)[0].ravel()
        # The runtime adds in any order, and single leaves are told apart by their weights.
        assert np.abs(families.scores(table, rows.astype(np.float64))[:, 0] - said).max() < 1e-5


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_a_classifier_as_catboost_writes_it_decides_as_the_runtime(seed: int, both: bool) -> None:
    pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    rng = np.random.default_rng(seed)
    numbers = NUMBERS[1]
    drawn = [one for _ in range(3) for one in trees(rng, "catboost", numbers)]
    model = classifier(drawn, both=both)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = np.concatenate([rng.normal(size=(10_000, 3)).astype(np.float32), rows_for(rng, numbers, 1000)])
    said = said_by_runtime(model, rows)[0]
    decided = np.array(families.decisions(table, families.scores(table, rows.astype(np.float64))))
    for place in np.flatnonzero(decided != said).tolist():  # within the rounding of sums in any order
        for index, label in enumerate(table.classes):
            possible, sure = enclosure(table, decision_of(table, index), rows[place].astype(np.float64), [])
            assert possible and not sure or said[place] == label
    assert len(set(said.tolist())) == 2


def one_node(mode: str = "BRANCH_GT", number: float = 0.5, tracks: int = 0) -> list[list[Drawn]]:
    leaf = ("LEAF", 0, 0.0, 0, 0, 0)
    return [[Drawn(mode, 0, number, 1, 2, tracks, 0.0), Drawn(*leaf, 1.0), Drawn(*leaf, 2.0)]]


def test_a_row_on_the_number_does_not_pass_branch_gt_and_its_rounding_to_float32_decides() -> None:
    pytest.importorskip("onnx", reason="an extra that is not installed")
    table = read(regressor(one_node(number=0.1)))
    assert isinstance(table, Ensemble)
    number = float(np.float32(0.1))
    halfway = (number + float(np.nextafter(np.float32(0.1), np.float32(1)))) / 2
    for value, added in [
        (number, 2.0),
        (np.nextafter(halfway, 0), 2.0),
        (halfway, 1.0 if np.float32(halfway) > np.float32(0.1) else 2.0),
        (np.nextafter(halfway, 1), 1.0),
    ]:
        assert table.scores(np.array([value, 0.0, 0.0]))[0] == added


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda at: at.update(n_targets=2), "2 targets"),
        (lambda at: at.update(aggregate_function=0), "another aggregate than SUM"),
        (lambda at: at.update(post_transform=2), "a post_transform"),
        (lambda at: at.update(tree_roots=[0, 0]), "twice"),
        (lambda at: at.update(tree_roots=[]), "no tree of TreeEnsemble has the node 0"),
        (lambda at: at.update(nodes_truenodeids=[7]), "has the leaf 7, of 2"),
        (lambda at: at.update(nodes_trueleafs=[0]), "has the node 0 twice"),
        (lambda at: at.update(nodes_featureids=[3]), "column"),
        (lambda at: at.update(nodes_featureids=[0, 1]), "different lengths"),
        (lambda at: at.update(leaf_targetids=[0, 1]), "leaf_targetids"),
        (lambda at: at.update(nodes_modes=np.array([6], np.uint8)), "BRANCH_MEMBER"),
        (lambda at: at.update(nodes_modes=np.array([9], np.uint8)), "no modes"),
        (lambda at: at.update(nodes_modes=np.array([1.0], np.float32)), "no modes"),
        (lambda at: at.update(nodes_splits=np.array([np.nan], np.float32)), "compares with nan"),
        (lambda at: at.update(nodes_splits=np.array([0.5])), "type float64"),
        (lambda at: at.update(leaf_weights=np.array([np.inf, 1], np.float32)), "not finite"),
        (lambda at: at.update(surprise=1), "not known"),
    ],
)
def test_what_a_flat_ensemble_may_not_hold_is_refused_by_name(change: Any, message: str) -> None:
    onnx = pytest.importorskip("onnx", reason="an extra that is not installed")
    model = flat(one_node())
    node = model.graph.node[0]
    given = {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
    change(given)
    del node.attribute[:]
    for name, value in given.items():
        held = onnx.numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value
        kind = onnx.AttributeProto.INTS if held == [] else None
        node.attribute.append(onnx.helper.make_attribute(name, held, attr_type=kind))
    with pytest.raises(ModelError, match=message):
        read(model)


BOTH = [(1, 0, 0.9), (1, 1, -0.9), (2, 0, -0.2), (2, 1, 0.2)]
SECOND = [(1, 1, -0.9), (2, 1, 0.2)]
FIRST = [(1, 0, -0.9), (2, 0, 0.2)]


def of_two_leaves(labels: list[Any], weights: list[tuple[int, int, float]], base: list[float]) -> Any:
    """A classifier of one test; weights: leaf (1 or 2), class, what it adds."""
    onnx = pytest.importorskip("onnx", reason="an extra that is not installed")
    model = classifier(one_node("BRANCH_LEQ", 0.0))
    node, kept = model.graph.node[0], []
    for one in node.attribute:
        if not one.name.startswith("class"):
            kept.append(one)
    del node.attribute[:]
    texts = isinstance(labels[0], str)
    given: dict[str, Any] = {
        "classlabels_strings" if texts else "classlabels_int64s": labels,
        "class_treeids": [0] * len(weights), "class_nodeids": [leaf for leaf, _, _ in weights],
        "class_ids": [of for _, of, _ in weights], "class_weights": [added for *_, added in weights],
        **({"base_values": base} if base else {}),
    }  # fmt: skip
    node.attribute.extend([*kept, *(onnx.helper.make_attribute(name, value) for name, value in given.items())])
    model.graph.output[0].type.tensor_type.elem_type = 8 if texts else 7
    model.graph.output[1].type.tensor_type.shape.dim[1].dim_value = len(labels)
    return model


@pytest.mark.parametrize(
    ("labels", "weights", "base"),
    [
        ([0, 1], BOTH, []), (["a", "b"], BOTH, []), ([3, 7], SECOND, []), ([3, 7], FIRST, []), ([3, 7], FIRST, [0.5]),
        (["a", "b"], SECOND, []), ([5, 6, 7], [*BOTH, (1, 2, 0.5), (2, 2, 0.1)], []),
        ([5, 6, 7], SECOND, [0.1, 0.0, 0.0]),
    ],
)  # fmt: skip
def test_a_choice_that_is_read_is_the_runtime_s(labels: Any, weights: Any, base: Any) -> None:
    pytest.importorskip("onnxruntime", reason="an extra that is not installed")
    model = of_two_leaves(labels, weights, base)
    table = read(model)
    assert isinstance(table, Ensemble)
    rows = np.array([[-1, 0, 0], [1, 0, 0]], dtype=np.float32)
    scores = families.scores(table, rows.astype(np.float64))
    assert families.decisions(table, scores) == said_by_runtime(model, rows)[0].tolist()


@pytest.mark.parametrize(
    ("labels", "weights", "base", "message"),
    [
        ([0, 1], [(1, 0, 0.9), (1, 1, 0.1), (2, 0, 0.2), (2, 1, 0.8)], [], "both of two classes"),
        ([3, 7], BOTH, [], "both of two classes"),
        ([0, 1], BOTH, [0.5, -0.5], "both of two classes"),
        ([0, 1], SECOND, [0.5], "a base value that counts in some rows only"),
        ([0, 1], FIRST[:1], [0.5], "a base value that counts in some rows only"),
        ([5, 6, 7], [(1, 1, -0.9), (2, 2, -0.2)], [], "no weight in some leaves"),
    ],
)
def test_a_choice_that_runtimes_make_otherwise_is_refused(labels: Any, weights: Any, base: Any, message: str) -> None:
    # onnxruntime says 1 where the largest of two probabilities is that of class 0, and 1 for a label 7.
    with pytest.raises(ModelError, match=message):
        read(of_two_leaves(labels, weights, base))


def test_an_operator_of_another_version_is_refused_by_name() -> None:
    pytest.importorskip("onnx", reason="an extra that is not installed")
    for model, version in ((flat(one_node()), 3), (regressor(one_node()), 5)):
        model.opset_import[1].version = version
        with pytest.raises(ModelError, match=f"is not of version {version} of its operations"):
            read(model)


@pytest.mark.parametrize("maker", list(MAKERS))
def test_an_unknown_mode_and_numbers_that_are_none_are_refused(maker: str) -> None:
    pytest.importorskip("onnx", reason="an extra that is not installed")
    with pytest.raises(ModelError, match="compares with inf"):
        read(MAKERS[maker](one_node(number=float("inf"))))
    if maker == "regressor":
        with pytest.raises(ModelError, match="compares by BRANCH_MEMBER; supported are BRANCH_LEQ"):
            read(regressor(one_node("BRANCH_MEMBER")))


@pytest.mark.parametrize("maker", list(MAKERS))
def test_a_file_of_every_mode_is_read_as_its_graph(maker: str, tmp_path: Any) -> None:
    pytest.importorskip("onnx", reason="an extra that is not installed")
    rng = np.random.default_rng(0)
    model = MAKERS[maker](trees(rng, "all", NUMBERS[0]))
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    mine, again = read(model), read(load_model(tmp_path / "model.onnx"))
    rows = rows_for(rng, NUMBERS[0], 200).astype(np.float64)
    assert isinstance(mine, Ensemble) and isinstance(again, Ensemble)
    assert np.array_equal(families.scores(mine, rows), families.scores(again, rows))
