"""ONNX files: the graph as plain values, and a graph written again for a runtime.

In:  the bytes of an .onnx file, or of a ModelProto.
Out: a `Graph`: one matrix as its input, operations in order, constants as arrays. `written` makes a file of a graph
     with the values that one of its outputs needs, under names of its own.
Promise: no package of ONNX is needed, and none sees the bytes of a file. Types, sizes and names are checked here;
whatever may change what a graph computes and is not read (functions, subgraphs, sparse weights, other versions) is a
ModelError that names it. Weights that an exporter put into a file of their own are read from beside the model only.
Source: onnx/onnx-ml.proto (IR version 3 to 13).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mace.base.files import read_unpacked
from mace.compilers.formats.protobuf import FormatError, UnreadError, decode, encode
from mace.compilers.onnx.schema import SCHEMA
from mace.errors import FileError, ModelError

LARGEST_FILE, LARGEST_TENSOR = 2**29, 2**30
MOST_CELLS = 2**24  # of the rows that are asked at once
MOST_COLUMNS = 2**24
MOST_DIMENSIONS = 8
ML = "ai.onnx.ml"
_VERSIONS = {"": (7, 100), ML: (1, 5)}  # From 7 on operations broadcast as they do today.
_DTYPES = {1: "<f4", 2: "|u1", 6: "<i4", 7: "<i8", 9: "|b1", 11: "<f8"}
_TEXT = 8
_FLOATS = {1: "float32", 11: "float64"}


# What people know these fields as.
_UNREAD = {
    "g": "a graph inside an operation (If, Loop, Scan)", "graphs": "graphs inside an operation",
    "functions": "functions of its own", "sparse_initializer": "sparse weights", "sparse_tensor": "sparse weights",
    "sparse_tensors": "sparse weights", "training_info": "steps of training",
}  # fmt: skip
_ABSENT = {"f": 0.0, "i": 0, "s": b"", "t": {}, "floats": np.zeros(0, dtype=np.float32)}
_ATTRIBUTES = {1: "f", 2: "i", 3: "s", 4: "t", 6: "floats", 7: "ints", 8: "strings"}


@dataclass(frozen=True, eq=False)
class OnnxNode:
    """An operation. Attributes are numbers, texts, arrays, or lists of numbers or texts.

    tensors: the attributes that are tensors, and no lists of float32 numbers.
    """

    kind: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    name: str = ""
    tensors: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"the ONNX operation {self.kind} ({self.name or self.outputs[0]})"


@dataclass(frozen=True, eq=False)
class Graph:
    """A graph over one matrix of numbers.

    input:   its name; `dtype` is what it holds; `rows` how many rows are asked at once, None for any number; `columns`
             how many columns it has, 0 where the file leaves them open.
    outputs: their names.
    shape:   what the file says of the columns where it keeps a row in several dimensions; empty for a plain matrix.
    vector:  whether the input is one row by itself, without a dimension for rows.
    """

    input: str
    dtype: str
    rows: int | None
    columns: int
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, NDArray[Any]]
    outputs: tuple[str, ...]
    versions: Mapping[str, int]
    ir_version: int
    shape: tuple[int, ...] = ()
    vector: bool = False


def load(path: Path) -> Graph:
    """The graph of a file; raises FileError for damage, ModelError for what is not supported."""
    return parse(read_unpacked(path, LARGEST_FILE), path)


def parse(data: bytes, path: Path | None = None) -> Graph:
    """The graph that the bytes hold; weights kept apart are looked for beside the path."""
    name = "the ONNX model" if path is None else str(path)
    try:
        model = decode(data, SCHEMA, "Model")
    except UnreadError as error:
        what = _UNREAD.get(error.field, error.field)
        raise ModelError(
            f"{name} has {what}, which is not read ({error})", hint="Export it as a plain chain of operations."
        ) from None
    except FormatError as error:
        raise FileError(f"{name} is no valid ONNX model: {error}", hint="It may be cut off: export it again.") from None
    graph = model.get("graph")
    if graph is None:
        raise FileError(f"{name} is no ONNX model: it has no graph")
    constants = {}
    for tensor in graph.get("initializer", ()):
        if tensor.get("data_location"):
            tensor = {**tensor, "raw_data": _beside(tensor, path), "data_location": 0}
        constants[_named(tensor, "a constant")] = _array(tensor)
    nodes = tuple(map(_node, graph.get("node", ())))
    _refuse_names(graph, nodes, constants)
    return Graph(
        **_input(graph, constants),
        nodes=nodes,
        constants=constants,
        outputs=tuple(_named(one, "an output") for one in graph.get("output", ())),
        versions=_versions(model),
        ir_version=_whole(model.get("ir_version"), "its ir_version", 3, 100),
    )


def _damaged(what: str) -> ModelError:
    return ModelError(f"the ONNX model is damaged: {what}", hint="It may be cut off or edited: export it again.")


def _whole(value: Any, what: str, least: int, most: int) -> int:
    if not isinstance(value, int) or not least <= value <= most:
        raise _damaged(f"{what} is {value}, expected a whole number from {least} to {most}")
    return value


def _named(value: Mapping[str, Any], what: str) -> str:
    name: str = value.get("name", "")
    if not name:
        raise _damaged(f"{what} has no name")
    return name


def _versions(model: Mapping[str, Any]) -> dict[str, int]:
    """The version of each set of operations; skl2onnx may write one of them twice."""
    found: dict[str, int] = {}
    for one in model.get("opset_import", ()):
        domain, version = one.get("domain", ""), one.get("version", 0)
        domain = "" if domain == "ai.onnx" else domain
        if domain not in _VERSIONS:
            continue  # An operation of it is refused where it stands.
        least, most = _VERSIONS[domain]
        if not least <= version <= most or found.setdefault(domain, version) != version:
            raise ModelError(
                f"the ONNX model has version {version} of the operations {domain or 'ai.onnx'}; "
                f"read are {least} to {most}",
                hint="Export it with another target_opset.",
            )
    return found


def _input(graph: Mapping[str, Any], constants: Mapping[str, Any]) -> dict[str, Any]:
    """The one input that is no constant."""
    inputs = [one for one in graph.get("input", ()) if _named(one, "an input") not in constants]
    if len(inputs) != 1:
        names = ", ".join(one["name"] for one in inputs)
        raise ModelError(f"the ONNX model has {len(inputs)} inputs ({names}); supported is one matrix of numbers")
    kind = inputs[0].get("type", {}).get("tensor_type", {})
    if kind.get("elem_type") not in _FLOATS:
        raise ModelError(f"the ONNX model's input {inputs[0]['name']!r} holds no float32 or float64 numbers")
    sizes = [one.get("dim_value", 0) for one in kind.get("shape", {}).get("dim", ())]
    if len(sizes) > MOST_DIMENSIONS:
        raise ModelError(f"the ONNX model's input {inputs[0]['name']!r} has {len(sizes)} dimensions, expected 2")
    vector = len(sizes) == 1
    rows, *shape = (1, *sizes) if vector else sizes or (0, 0)
    # Only a plain matrix may leave its columns open: of several dimensions the order would not be known.
    least = 0 if len(shape) == 1 else 1
    columns = math.prod(_whole(size, "its number of columns", least, MOST_COLUMNS) for size in shape)
    columns = _whole(columns, "its number of columns", least, MOST_COLUMNS)
    return {
        "input": inputs[0]["name"],
        "dtype": _FLOATS[kind["elem_type"]],
        "rows": _whole(rows, "its number of rows", 0, MOST_CELLS // max(columns, 1)) or None,
        "columns": columns,
        "shape": tuple(shape) if len(shape) > 1 else (),
        "vector": vector,
    }


def _refuse_names(graph: Mapping[str, Any], nodes: Sequence[OnnxNode], constants: Mapping[str, Any]) -> None:
    """Raise unless every name is given once, before it is used."""
    known = {*constants, *(_named(one, "an input") for one in graph.get("input", ()))}
    if len(constants) != len(graph.get("initializer", ())):
        raise _damaged("two constants have one name")
    for node in nodes:
        for name in node.inputs:
            if name and name not in known:
                raise _damaged(f"{node.kind} uses {name!r}, which nothing before it gives")
        for name in node.outputs:
            if name and name in known:
                raise _damaged(f"{node.kind} gives {name!r}, which is there already")
            known.add(name)


def _node(node: Mapping[str, Any]) -> OnnxNode:
    attributes = {}
    for one in node.get("attribute", ()):
        field = _ATTRIBUTES.get(one.get("type", 0))
        if field is None or one.get("name", "") in attributes:
            raise _damaged(f"{node.get('op_type')} has the attribute {one.get('name')!r} twice or of another type")
        value = one.get(field, _ABSENT.get(field, []))
        if field == "t":
            value = _array(value)
        attributes[one.get("name", "")] = _text(value)
    domain = node.get("domain", "")
    if not node.get("op_type") or not node.get("output") or not node["output"][0]:
        raise _damaged("an operation has no type, or gives nothing")
    return OnnxNode(
        node["op_type"], "" if domain == "ai.onnx" else domain, tuple(node.get("input", ())), tuple(node["output"]),
        attributes, node.get("name", ""),
        frozenset(one["name"] for one in node.get("attribute", ()) if one.get("type") == 4 and one.get("name")),
    )  # fmt: skip


def _text(value: Any) -> Any:
    """Bytes as text, in lists too."""
    if isinstance(value, list):
        return [_text(one) for one in value]
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise _damaged("a text is no UTF-8") from None


def _array(tensor: Mapping[str, Any]) -> NDArray[Any]:
    """A constant as an array; its size is what the bytes hold."""
    name, kind, dims = tensor.get("name", ""), tensor.get("data_type", 0), tensor.get("dims", [])
    if tensor.get("data_location"):
        raise ModelError(
            f"the ONNX model keeps {name!r} in another file",
            hint="Give the path of the .onnx file, or load it with its data: onnx.load(path).",
        )
    if len(dims) > MOST_DIMENSIONS or any(not 0 <= size < 2**31 for size in dims):
        raise _damaged(f"the constant {name!r} has the shape {dims[:MOST_DIMENSIONS]}")
    if kind != _TEXT and kind not in _DTYPES:
        known = {10: "float16", 16: "bfloat16", 3: "int8", 4: "uint16", 5: "int16", 12: "uint32", 13: "uint64"}
        raise ModelError(
            f"the ONNX model's constant {name!r} holds values of type {known.get(kind, kind)}, which is not supported",
            hint="Export the model in float32 or float64.",
        )
    flat = _flat(tensor, name, kind)
    if flat.size != math.prod(dims):
        raise _damaged(f"the constant {name!r} has {flat.size} values for the shape {dims}")
    return flat.reshape(dims)


def _flat(tensor: Mapping[str, Any], name: str, kind: int) -> NDArray[Any]:
    if kind == _TEXT:
        return np.array([*_text(tensor.get("string_data", [])), ""], dtype=object)[:-1]
    dtype = np.dtype(_DTYPES[kind])
    raw = tensor.get("raw_data", b"")
    if raw:
        if len(raw) % dtype.itemsize:
            raise _damaged(f"the constant {name!r} has no whole number of values")
        return np.frombuffer(raw, dtype)
    field = {1: "float_data", 7: "int64_data", 11: "double_data"}.get(kind, "int32_data")
    values = tensor.get(field, [])
    least, beyond = (0, 2**8) if kind == 2 else (-(2**31), 2**31)
    if kind in (2, 6, 9) and any(not least <= value < beyond for value in values):
        raise _damaged(f"the constant {name!r} has values that are too large")
    return np.asarray(values, dtype=dtype)


def _beside(tensor: Mapping[str, Any], path: Path | None) -> bytes:
    """A tensor's bytes from the file that an exporter wrote beside the model, and from nowhere else."""
    title = tensor.get("name", "")
    if path is None:
        _array(tensor)  # says so
        raise AssertionError
    told = {entry.get("key", ""): entry.get("value", "") for entry in tensor.get("external_data", ())}
    name = told.get("location", "")
    if not name or name in (".", "..") or Path(name).name != name or "\\" in name or "\0" in name:
        raise FileError(
            f"{path} keeps {title!r} in {name!r}, which is not the plain name of a file beside it",
            hint="Export it again, with its weights inside or in a file beside it.",
        )
    beside = path.parent / name
    try:
        found = not beside.is_symlink() and beside.is_file()
    except OSError:  # a name that is too long
        found = False
    if not found:
        raise FileError(
            f"{path} keeps {title!r} in {beside}, which is not there or no plain file",
            hint="Keep the two files together, or export the model with its weights inside (external_data=False).",
        )
    size = beside.stat().st_size
    offset, length = (told.get(key, "") for key in ("offset", "length"))
    if not all(number.isascii() and number.isdigit() and len(number) < 19 for number in (offset or "0", length or "0")):
        raise _damaged(f"the constant {title!r} lies at {offset!r} of another file")
    start = int(offset or 0)
    count = int(length) if length else size - start
    if count < 0 or start + count > size or count > LARGEST_TENSOR:
        raise FileError(f"{beside} is too short for {title!r} of {path}", hint="It may be cut off: export again.")
    with beside.open("rb") as file:
        file.seek(start)
        return bytes(file.read(count))


# ------------------------------------------------------------------------------------------------- writing


def written(graph: Graph, nodes: Sequence[OnnxNode], output: str, kind: int) -> bytes:
    """A file that computes one value of a graph.

    nodes:  those that a reader followed, with the attributes and outputs that it knows.
    output: the name of the value; `kind` is its type, as ONNX numbers types.
    """
    needed, used = {output}, []
    for node in reversed(nodes):
        if needed & set(node.outputs):
            used.append(node)
            needed.update(node.inputs)
    names = {
        name: f"v{place}"
        for place, name in enumerate(sorted({graph.input, *needed, *(n for u in used for n in u.outputs)}))
    }
    names[""] = ""  # an input that is left out
    shape = (graph.columns,) if graph.vector else (graph.rows or 0, graph.columns)
    sizes: list[dict[str, int]] = [{"dim_value": size} if size else {} for size in shape]
    given = {"elem_type": 1 if graph.dtype == "float32" else 11, "shape": {"dim": sizes}}
    return encode(
        {
            "ir_version": graph.ir_version,
            "opset_import": [{"domain": domain, "version": version} for domain, version in graph.versions.items()],
            "graph": {
                "node": [_node_written(node, names) for node in reversed(used)],
                "name": "model",
                "initializer": [
                    _array_written(names[name], array) for name, array in graph.constants.items() if name in needed
                ],
                "input": [{"name": names[graph.input], "type": {"tensor_type": given}}],
                "output": [{"name": names[output], "type": {"tensor_type": {"elem_type": kind}}}],
            },
        },
        SCHEMA,
        "Model",
    )


def _node_written(node: OnnxNode, names: Mapping[str, str]) -> dict[str, Any]:
    return {
        "input": [names[name] for name in node.inputs],
        "output": [names[name] for name in node.outputs],
        "op_type": node.kind,
        "domain": node.domain,
        "attribute": [
            _attribute_written(name, value, tensor=name in node.tensors) for name, value in node.attributes.items()
        ],
    }


def _attribute_written(name: str, value: Any, *, tensor: bool) -> dict[str, Any]:
    match value:
        case float():
            return {"name": name, "f": value, "type": 1}
        case int():
            return {"name": name, "i": value, "type": 2}
        case str():
            return {"name": name, "s": value.encode("utf-8"), "type": 3}
        case np.ndarray() if not tensor and value.dtype == np.float32 and value.ndim == 1:
            return {"name": name, "floats": value, "type": 6}
        case np.ndarray():
            return {"name": name, "t": _array_written("", value), "type": 4}
        case [str(), *_]:
            return {"name": name, "strings": [text.encode("utf-8") for text in value], "type": 8}
        case _:
            return {"name": name, "ints": value, "type": 7}


def _array_written(name: str, array: NDArray[Any]) -> dict[str, Any]:
    if array.dtype == object:
        texts = [text.encode("utf-8") for text in array.ravel().tolist()]
        return {"dims": list(array.shape), "data_type": _TEXT, "string_data": texts, "name": name}
    kind = next(number for number, dtype in _DTYPES.items() if np.dtype(dtype) == array.dtype)
    return {"dims": list(array.shape), "data_type": kind, "raw_data": array.tobytes(), "name": name}
