"""The messages of an ONNX file: their fields by number, and which of them are read, skipped or refused.

Source: onnx/onnx-ml.proto (IR version 3 to 13).
"""

from __future__ import annotations

from mace.compilers.formats.protobuf import Field


def _refused(**numbers: int) -> dict[int, Field]:
    return {number: Field(name, "refuse") for name, number in numbers.items()}


def _skipped(*numbers: int) -> dict[int, Field]:
    return {number: Field(str(number), "skip") for number in numbers}


SCHEMA: dict[str, dict[int, Field]] = {
    "Model": {
        1: Field("ir_version", "int"), 7: Field("graph", "Graph"), 8: Field("opset_import", "OperatorSet", many=True),
        **_skipped(2, 3, 4, 5, 6, 14), **_refused(training_info=20, functions=25, configuration=26),
    },
    "OperatorSet": {1: Field("domain", "text"), 2: Field("version", "int")},
    "Graph": {
        1: Field("node", "Node", many=True), 2: Field("name", "text"), 5: Field("initializer", "Tensor", many=True),
        11: Field("input", "Value", many=True), 12: Field("output", "Value", many=True),
        **_skipped(10, 13, 14, 16), **_refused(sparse_initializer=15),
    },
    "Node": {
        1: Field("input", "text", many=True), 2: Field("output", "text", many=True), 3: Field("name", "text"),
        4: Field("op_type", "text"), 5: Field("attribute", "Attribute", many=True), 7: Field("domain", "text"),
        **_skipped(6, 9), **_refused(overload=8, device_configurations=10),
    },
    "Attribute": {
        1: Field("name", "text"), 2: Field("f", "float"), 3: Field("i", "int"), 4: Field("s", "bytes"),
        5: Field("t", "Tensor"), 7: Field("floats", "float", many=True), 8: Field("ints", "int", many=True),
        9: Field("strings", "bytes", many=True), 20: Field("type", "int"), **_skipped(13),
        **_refused(g=6, tensors=10, graphs=11, tp=14, type_protos=15, ref_attr_name=21, sparse_tensor=22,
                   sparse_tensors=23),
    },
    "Tensor": {
        1: Field("dims", "int", many=True), 2: Field("data_type", "int"), 4: Field("float_data", "float", many=True),
        5: Field("int32_data", "int", many=True), 6: Field("string_data", "bytes", many=True),
        7: Field("int64_data", "int", many=True), 8: Field("name", "text"), 9: Field("raw_data", "bytes"),
        10: Field("double_data", "double", many=True), 13: Field("external_data", "Entry", many=True),
        14: Field("data_location", "int"), **_skipped(11, 12, 16), **_refused(segment=3),
    },
    "Entry": {1: Field("key", "text"), 2: Field("value", "text")},
    "Value": {1: Field("name", "text"), 2: Field("type", "Type"), **_skipped(3, 4)},
    "Type": {1: Field("tensor_type", "TensorType"), **_skipped(4, 5, 6, 7, 8, 9)},
    "TensorType": {1: Field("elem_type", "int"), 2: Field("shape", "Shape")},
    "Shape": {1: Field("dim", "Dimension", many=True)},
    "Dimension": {1: Field("dim_value", "int"), 2: Field("dim_param", "text"), **_skipped(3)},
}  # fmt: skip
