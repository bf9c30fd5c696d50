"""skops files: every object that they describe is checked, and the file is written again.

In:  the bytes of a .skops file: a zip of `schema.json`, which says how to make an object from others, and arrays.
Out: a file with the same objects, where every array is written again, and nothing is shared by a number.
Promise: only classes are made that a caller knows, from dicts, lists, numbers, texts and arrays; the arrays inside
trees, which native code trusts, have been walked through. What is only for training (states of random numbers,
splits, scorers) becomes None; sparse matrices, methods, bytes and other versions of the format are refused by name.
Source: skops/io/_general.py, _numpy.py, _sklearn.py (0.13 to 0.16, protocol 2); sklearn/tree/_tree.pyx, `__setstate__`.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from mace.compilers.formats.fields import Fields, fields_of, shown
from mace.compilers.tree_arrays import checked_tree
from mace.errors import FileError, ModelError

PROTOCOL = 2
LARGEST_FILE = 2**30
LARGEST_CONTENT = 2**31
DEEPEST = 100
NOT_TRUSTED = (
    "Of scikit-learn it may hold models and steps that are read, and models that are bounded over boxes, but for "
    "neighbours; boosters have files of their own. A file you trust may also be a pickle."
)
_INSTEAD = {
    "sklearn.metrics._scorer._CurveScorer": "Of a TunedThresholdClassifierCV, save FixedThresholdClassifier("
    "FrozenEstimator(model.estimator_), threshold=model.best_threshold_).fit(X, y)."
}
_DICTS = ("builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch")
_TYPES = ("builtins.bool", "builtins.dict", "builtins.float", "builtins.int", "builtins.list", "builtins.object",
          "builtins.str", "builtins.tuple")  # fmt: skip
_LISTS = {"ListNode": "builtins.list", "TupleNode": "builtins.tuple", "SetNode": "builtins.set"}
_NUMBERS = ("bool", "bool_", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "str_", "uint8",
            "uint16", "uint32", "uint64")  # fmt: skip
_FUNCTIONS = ("sklearn.utils.validation.check_array",)
# Of a search; its splits, scorers and results are of no use to the model that it chose.
_SCORERS = tuple(f"sklearn.metrics._scorer.{name}" for name in ("_PassthroughScorer", "_Scorer", "_MultimetricScorer"))
_NONE = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": "null", "is_json": True}

Known = Callable[[str, str], bool]


class At(NamedTuple):
    """A node of a schema, the class that it names, and how deep it lies."""

    state: Fields
    path: str
    depth: int


def checked(data: bytes, name: str, known: Known) -> bytes:
    """The file written again.

    known: whether objects of a class may be made, by module and name.
    Raises FileError for what is no such file, ModelError for what it may not hold.
    """
    members = _members(data, name)
    try:
        schema = json.loads(members.pop("schema.json"))
    except (KeyError, ValueError, RecursionError) as error:
        raise _damaged(name, f"its schema.json is missing or no JSON: {error}") from None
    root = fields_of(schema, f"{name} is damaged: it", "its schema")
    if root.values.get("protocol") != PROTOCOL:
        raise FileError(
            f"{name} was written by another version of skops (protocol {shown(root.values.get('protocol'))})",
            hint="Save the model again with skops 0.13 or newer.",
        )
    writer = _Writer(name, members, known)
    made = {**writer.node(schema, 0), "protocol": PROTOCOL}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("schema.json", json.dumps(made))
        for file, array in writer.arrays.items():
            held = io.BytesIO()
            np.save(held, array, allow_pickle=False)
            archive.writestr(file, held.getvalue())
    return out.getvalue()


def _damaged(name: str, what: str) -> FileError:
    return FileError(f"{name} cannot be read as skops: {what}", hint="It is damaged: save the model again.")


def _members(data: bytes, name: str) -> dict[str, bytes]:
    """The files in the zip, unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            listed = archive.infolist()
            if sum(one.file_size for one in listed) > LARGEST_CONTENT:
                raise _damaged(name, "it unpacks to more than 2 GB")
            if any(one.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for one in listed):
                raise _damaged(name, "its parts are packed in another way than skops packs them")
            if len({one.filename for one in listed}) != len(listed):
                raise _damaged(name, "two of its parts have one name")
            return {one.filename: archive.read(one) for one in listed}
    except FileError:
        raise
    except Exception as error:  # noqa: BLE001 - zipfile and the decompressors raise a dozen kinds
        raise _damaged(name, f"{type(error).__name__}: {error}") from None


class _Writer:
    """Nodes of a schema on their way into another one; `arrays` are the files that it needs."""

    def __init__(self, name: str, members: dict[str, bytes], known: Known) -> None:
        self.name, self.members, self.known = name, members, known
        self.arrays: dict[str, NDArray[Any]] = {}

    def wrong(self, what: str) -> ModelError:
        return ModelError(f"{self.name} {what}", hint="Save the model again, or in another format.")

    def node(self, value: Any, depth: int) -> dict[str, Any]:
        """One node, written again."""
        state = fields_of(value, f"{self.name} is damaged: it", "a node of its schema")
        if depth > DEEPEST:
            raise self.wrong(f"holds objects more than {DEEPEST} deep")
        loader, path = state.text("__loader__"), f"{state.text('__module__')}.{state.text('__class__')}"
        make = _LOADERS.get(loader)
        if make is None:
            raise self.wrong(f"holds types that are not trusted: {path[:200]} ({loader[:60]})")
        return {
            "__class__": state.text("__class__"), "__module__": state.text("__module__"), "__loader__": loader,
            **make(self, At(state, path, depth + 1)),
        }  # fmt: skip

    def refuse(self, path: str) -> ModelError:
        return ModelError(
            f"{self.name} holds types that are not trusted: {path[:200]}",
            hint=_INSTEAD.get(path, NOT_TRUSTED),
        )

    # ------------------------------------------------------------------ plain values

    def json(self, at: At) -> dict[str, Any]:
        content = at.state.get("content")
        try:
            value = json.loads(content) if isinstance(content, str) else []
        except (ValueError, RecursionError):
            value = []
        if isinstance(value, (list, dict)):
            raise self.wrong("is damaged: a value is no number and no text")
        return {"content": json.dumps(value), "is_json": True}

    def mapping(self, at: At) -> dict[str, Any]:
        if at.path not in _DICTS:
            raise self.refuse(at.path)
        content = at.state.fields("content")
        types = self.node(at.state.get("key_types"), at.depth)
        if types["__loader__"] != "ListNode" or len(types["content"]) != len(content.values):
            raise self.wrong("is damaged: a mapping whose keys have no types")
        return {"key_types": types, "content": {k: self.node(v, at.depth) for k, v in content.values.items()}}

    def listed(self, at: At) -> dict[str, Any]:
        if at.path != _LISTS[at.state.text("__loader__")]:
            raise self.refuse(at.path)
        return {"content": [self.node(one, at.depth) for one in at.state.items("content")]}

    def kind(self, at: At) -> dict[str, Any]:
        if at.path not in _TYPES and at.path not in [f"numpy.{number}" for number in _NUMBERS]:
            raise self.refuse(at.path)
        return {}

    def slice(self, at: At) -> dict[str, Any]:
        content = at.state.fields("content")
        ends = {key: content.values.get(key) for key in ("start", "stop", "step")}
        if at.path != "builtins.slice" or not all(one is None or isinstance(one, (int, str)) for one in ends.values()):
            raise self.refuse(at.path)
        return {"content": ends}

    def array(self, at: At) -> dict[str, Any]:
        module, _, kind = at.path.rpartition(".")
        if module != "numpy" or kind not in ("ndarray", *_NUMBERS):
            raise self.refuse(at.path)
        if at.state.text("type") == "json":
            shape = self.node(at.state.get("shape"), at.depth)
            content = [self.node(one, at.depth) for one in at.state.items("content")]
            if shape["__loader__"] != "TupleNode" or kind != "ndarray":
                raise self.wrong("is damaged: an array without a shape")
            return {"type": "json", "content": content, "shape": shape}
        array = self.stored(at.state)
        if kind != "ndarray" and array.ndim:
            raise self.wrong("is damaged: a number that is an array")
        file = f"{len(self.arrays)}.npy"
        self.arrays[file] = array
        return {"type": "numpy", "file": file}

    def dtype(self, at: At) -> dict[str, Any]:
        content = self.node(at.state.get("content"), at.depth)
        if at.path != "numpy.dtype" or content["__loader__"] != "NdArrayNode" or content["type"] != "numpy":
            raise self.refuse(at.path)
        return {"content": content}

    def stored(self, state: Fields) -> NDArray[Any]:
        """The array in a file of the zip, of numbers, texts or records of numbers."""
        raw = self.members.get(state.text("file"))
        if raw is None or state.text("type") != "numpy":
            raise self.wrong(f"is damaged: it has no array {state.text('file')[:60]!r}")
        file = io.BytesIO(raw)
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
        except Exception as error:  # noqa: BLE001 - a header is a Python literal, and any may stand there
            raise self.wrong(f"is damaged: an array has no header ({shown(str(error))})") from None
        if dtype.hasobject or not _plain(dtype):
            raise self.wrong(f"holds an array of {dtype}, which is not supported")
        count = math.prod(shape)
        if len(shape) > 4 or count * dtype.itemsize != len(raw) - file.tell():
            raise self.wrong(f"is damaged: an array of shape {shape[:4]} does not fit its file")
        if dtype.kind == "U" and not _letters(raw[file.tell() :], dtype):
            raise self.wrong("is damaged: a text holds signs that are no letters")
        found: NDArray[Any] = np.frombuffer(raw, dtype, count, file.tell()) if count else np.zeros(0, dtype)
        return found.reshape(shape, order="F" if fortran else "C")

    # ------------------------------------------------------------------ objects

    def object(self, at: At) -> dict[str, Any]:
        module, _, kind = at.path.rpartition(".")
        if module == "sklearn.model_selection._split" or at.path in _SCORERS:
            return _nothing()
        if not self.known(module, kind):
            raise self.refuse(at.path)
        content = at.state.values.get("content")
        return {} if content is None else {"content": self.node(content, at.depth)}

    def function(self, at: At) -> dict[str, Any]:
        if at.path.startswith("sklearn.feature_selection."):
            return _nothing()  # What columns were chosen by.
        # Of numpy and scipy skops itself makes none but their ufuncs.
        if at.path not in _FUNCTIONS and not at.path.startswith(("numpy.", "scipy.")):
            raise self.refuse(at.path)
        return {}

    def partial(self, at: At) -> dict[str, Any]:
        content = at.state.fields("content")
        made = {key: self.node(content.get(key), at.depth) for key in ("func", "args", "kwds", "namespace")}
        if at.path != "functools.partial" or made["func"]["__loader__"] != "FunctionNode":
            raise self.refuse(at.path)
        return {"content": made}

    def loss(self, at: At) -> dict[str, Any]:
        if not at.path.startswith(("sklearn._loss._loss.", "_loss.", "sklearn.linear_model._sgd_fast.")):
            raise self.refuse(at.path)
        arguments = self.node(at.state.fields("__reduce__").get("args"), at.depth)
        inside = arguments["content"] if arguments["__loader__"] == "TupleNode" else []
        if any(one["__loader__"] != "JsonNode" for one in inside):
            raise self.refuse(at.path)
        return {"__reduce__": {"args": arguments}, "content": self.node(at.state.get("content"), at.depth)}

    def tree(self, at: At) -> dict[str, Any]:
        if at.path != "sklearn.tree._tree.Tree":
            raise self.refuse(at.path)
        arguments, content = (
            self.node(value, at.depth) for value in (at.state.fields("__reduce__").get("args"), at.state.get("content"))
        )
        self.refuse_tree(arguments, content)
        return {"__reduce__": {"args": arguments}, "content": content}

    def refuse_tree(self, arguments: dict[str, Any], content: dict[str, Any]) -> None:
        """Raise unless the arrays of a tree are one, with nodes, children, columns and values that fit one another.

        arguments: columns, the numbers of classes, outputs; content: the rest. Nodes as they are written.
        """
        if arguments["__loader__"] != "TupleNode" or len(arguments["content"]) != 3:
            raise self.wrong("is damaged: a tree has no sizes")
        if content["__loader__"] != "DictNode" or not {"max_depth", "node_count", "nodes", "values"} <= set(
            content["content"]
        ):
            raise self.wrong("is damaged: a tree has no nodes")
        inside = content["content"]
        columns, outputs = (self.number(arguments["content"][k], 1, 2**24) for k in (0, 2))
        depth, count = (self.number(inside[key], 0, 2**31 - 1) for key in ("max_depth", "node_count"))
        classes, nodes, values = map(self.made, (arguments["content"][1], inside["nodes"], inside["values"]))
        names = ("left_child", "right_child", "feature", "threshold")
        if nodes.ndim != 1 or not set(names) <= set(nodes.dtype.names or ()):
            raise self.wrong("is damaged: a tree has no nodes")
        if (
            classes.dtype.kind not in "iu"
            or classes.shape != (outputs,)
            or not 1 <= classes.min() <= classes.max() < 2**24
        ):
            raise self.wrong("is damaged: a tree has no number of classes")
        if len(nodes) != count or values.shape != (count, outputs, int(classes.max())) or depth > count:
            raise self.wrong(f"is damaged: a tree of {count} nodes has values of shape {values.shape}")
        left, right, feature = (nodes[name] for name in names[:3])
        where = f"{self.name} is damaged: a tree"
        checked_tree(where, columns, left, right, feature, np.zeros(count), np.zeros((count, 1)))

    def number(self, node: dict[str, Any], least: int, most: int) -> int:
        """The whole number of a node."""
        text = node["content"] if node["__loader__"] == "JsonNode" else None
        return Fields({"number": text}, f"{self.name} is damaged: a tree").whole("number", least, most)

    def made(self, node: dict[str, Any]) -> NDArray[Any]:
        """The array of a node."""
        if node["__loader__"] != "NdArrayNode" or node["type"] != "numpy" or node["__class__"] != "ndarray":
            raise self.wrong("is damaged: a tree has no arrays")
        return self.arrays[node["file"]]


def _plain(dtype: np.dtype[Any]) -> bool:
    """Whether an array holds numbers or texts, or records of numbers."""
    if dtype.names is None:
        return dtype.kind in "biufUS" and dtype.subdtype is None
    return all(_plain(dtype[name]) and dtype[name].names is None for name in dtype.names)


def _letters(raw: bytes, dtype: np.dtype[Any]) -> bool:
    """Whether texts of four bytes a letter hold letters only, and no half of one."""
    codes = np.frombuffer(raw, np.dtype("u4").newbyteorder(dtype.byteorder))
    return bool(((codes < 0xD800) | (codes > 0xDFFF) & (codes <= 0x10FFFF)).all())


def _nothing(*_: object) -> dict[str, Any]:
    """What only training needs."""
    return dict(_NONE)


_LOADERS: dict[str, Callable[[_Writer, At], dict[str, Any]]] = {
    "JsonNode": _Writer.json, "DictNode": _Writer.mapping, "ListNode": _Writer.listed, "TupleNode": _Writer.listed,
    "SetNode": _Writer.listed, "TypeNode": _Writer.kind, "SliceNode": _Writer.slice, "NdArrayNode": _Writer.array,
    "DTypeNode": _Writer.dtype, "ObjectNode": _Writer.object, "FunctionNode": _Writer.function,
    "PartialNode": _Writer.partial, "LossNode": _Writer.loss, "TreeNode": _Writer.tree,
    "RandomStateNode": _nothing, "RandomGeneratorNode": _nothing, "MaskedArrayNode": _nothing,
}  # fmt: skip
