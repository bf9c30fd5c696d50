"""The trees that XGBoost's `dump_model(.., dump_format="json")` writes, and what must be said with them.

In:  the list of nested nodes in such a file, and a `Dump`: the objective, base_score and columns, which it lacks.
Out: a document as of a model file, for `xgboost_model.checked`.
Promise: without a `Dump` the error names what is missing. Splits on categories and on columns of type "i" are refused:
the file does not say which number a category has, or at which number such a column splits. Nine digits give back every
float32. A threshold of a whole-number column is rounded up in the file, which changes nothing for whole numbers.
Source: src/tree/tree_model.cc, `JsonGenerator` (2.0 to 3.2).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from mace.compilers.formats.fields import Fields, fields_of, shown
from mace.errors import ModelError

MOST_NODES = 10_000_000
_KEYS = ("nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children", "gain", "cover", "leaf")
_HINT = (
    'Save the whole model with `booster.save_model("model.json")`. If only its trees are left, say what they lack: '
    '--dump "objective=binary:logistic base_score=0.5 columns=a,b,c" (and num_class=3, num_parallel_tree=2 where they '
    "matter), with the columns in the order of training."
)


@dataclass(frozen=True)
class Dump:
    """What a dump of trees does not hold.

    objective:  as XGBoost names it, for instance binary:logistic.
    base_score: as its parameter; of binary:logistic a probability.
    columns:    the names of all columns, in the order of training.
    """

    objective: str
    base_score: float
    columns: tuple[str, ...]
    num_class: int = 0
    num_parallel_tree: int = 1

    def __str__(self) -> str:
        more = f", {self.num_class} classes" if self.num_class else ""
        return f"objective {self.objective}, base_score {self.base_score:g}{more}"


def stated(text: str) -> Dump:
    """A `Dump` from words such as `objective=binary:logistic base_score=0.5 columns=a,b`; raises ModelError."""
    given = dict(word.partition("=")[::2] for word in text.split())
    known = ("objective", "base_score", "columns", "num_class", "num_parallel_tree")
    try:
        if odd := [key for key in given if key not in known]:
            raise ValueError(f"{odd[0]!r} is not one of {', '.join(known)}")
        return Dump(
            given["objective"], float(given["base_score"]), tuple(given["columns"].split(",")),
            int(given.get("num_class", 0)), int(given.get("num_parallel_tree", 1)),
        )  # fmt: skip
    except KeyError as error:
        raise ModelError(f"what is said of the dump lacks {error.args[0]}", hint=_HINT) from None
    except ValueError as error:
        raise ModelError(f"what is said of the dump cannot be read ({error})", hint=_HINT) from None


def document_of(trees: list[Any], dump: Dump | None, name: str) -> dict[str, Any]:
    """The document of a model whose trees these are; raises ModelError."""
    if dump is None:
        raise ModelError(
            f"{name} holds trees alone, as XGBoost's `dump_model` writes them: the objective, base_score and the "
            "columns are not in it",
            hint=_HINT,
        )
    outputs = max(dump.num_class, 1)
    if dump.num_parallel_tree < 1 or len(set(dump.columns)) != len(dump.columns) or not all(dump.columns):
        raise ModelError("what is said of the dump has a column twice, or no trees in a round", hint=_HINT)
    columns = {column: place for place, column in enumerate(dump.columns)}
    made = [_tree(tree, columns, f"{name} is damaged: tree {number}") for number, tree in enumerate(trees)]
    objective: dict[str, Any] = {"name": dump.objective}
    if dump.objective.startswith("multi:"):
        objective["softmax_multiclass_param"] = {"num_class": str(dump.num_class)}
    return {
        "version": [2, 1, 0],  # It knows a base_score that is one number.
        "learner": {
            "feature_names": list(dump.columns),
            "feature_types": [],
            "learner_model_param": {
                "base_score": repr(float(dump.base_score)), "num_class": str(dump.num_class),
                "num_feature": str(len(dump.columns)),
            },
            "objective": objective,
            "gradient_booster": {
                "name": "gbtree",
                "model": {
                    "gbtree_model_param": {"num_parallel_tree": str(dump.num_parallel_tree)},
                    # In every round the trees of each class follow one another.
                    "tree_info": [k // dump.num_parallel_tree % outputs for k in range(len(made))],
                    "trees": made,
                },
            },
        },
    }  # fmt: skip


def _tree(root: Any, columns: dict[str, int], where: str) -> dict[str, Any]:
    """The arrays of one tree."""
    arrays: dict[str, list[Any]] = {
        key: [] for key in ("left_children", "right_children", "split_indices", "split_conditions", "default_left")
    }
    nodes = [root]  # in the order of their numbers: the two children of a node lie side by side
    for value in nodes:
        node = fields_of(value, where, "a node")
        node.only(_KEYS)
        split = _split(node, columns) if "leaf" not in node.values else {"split_conditions": node.get("leaf")}
        children = split.pop("children", [])
        if children:
            split |= {"left_children": len(nodes), "right_children": len(nodes) + 1}
        if len(nodes) > MOST_NODES:
            raise node.wrong(f"has more than {MOST_NODES} nodes")
        nodes += children
        for key, array in arrays.items():
            array.append(split.get(key, -1 if key.endswith("children") else 0))
    return arrays


def _split(node: Fields, columns: dict[str, int]) -> dict[str, Any]:
    """What a node tests, and its two children, the left one first."""
    name, number = node.text("split"), node.whole("nodeid", 0, 2**31 - 1)
    if isinstance(node.values.get("split_condition"), list):
        raise ModelError(
            f"{node.where}, node {number} splits on categories, whose numbers a dump does not hold", hint=_HINT
        )
    if "split_condition" not in node.values:
        raise ModelError(
            f"{node.where}, node {number} splits on {name!r} at a number that is not in the dump", hint=_HINT
        )
    column = columns.get(name)
    if column is None and re.fullmatch(r"f[0-9]{1,8}", name):
        column = int(name[1:])
    if column is None or column >= len(columns):
        raise ModelError(
            f"{node.where}, node {number} splits on {shown(name)}, which is no column that was named", hint=_HINT
        )
    children = node.items("children")
    found = {fields_of(c, node.where, "a child").whole("nodeid", 0, 2**31 - 1): c for c in children}
    yes, no, missing = (node.whole(key, 0, 2**31 - 1) for key in ("yes", "no", "missing"))
    if len(children) != 2 or set(found) != {yes, no} or missing not in found:
        raise node.wrong(f"has a node {number} whose children are not those that it names")
    return {
        "split_indices": column,
        "split_conditions": node.get("split_condition"),
        "default_left": int(missing == yes),
        "children": [found[yes], found[no]],
    }
