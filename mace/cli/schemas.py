"""What `--format json` prints, as JSON Schemas.

In:  the name of a kind of `mace.base.formats`.    Out: a schema that stands alone (JSON Schema, draft 2020-12).
Promise: what mace writes of a kind satisfies its schema, and has no key that the schema does not name
(tests/test_schemas.py). A schema allows further keys, since later releases may add some.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeAlias, Union, get_args, get_origin, get_type_hints

from mace.audit.intervals import Share
from mace.base.formats import VERSIONS, name_of
from mace.solve.status import STATUSES

Schema: TypeAlias = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
TRUTH: Schema = {"type": "boolean"}
# A cell of a table: a number, a text, a truth; null where it is missing.
VALUE: Schema = {"type": ["number", "string", "boolean", "null"]}
EXACT: Schema = {"type": ["string", "null"], "pattern": r"^-?[0-9]+(/[0-9]+)?$", "description": "an exact rational"}
STATUS: Schema = {"enum": list(STATUSES)}


def _maybe(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _list(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _map(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _pair(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 2, "maxItems": 2}


def _object(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    return {"type": "object", "properties": required | (optional or {}), "required": list(required)}


def _kind(kind: str, required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """An object that says which kind it is."""
    return _object({"schema": {"const": name_of(kind)}} | required, optional)


ROW = _map(VALUE)
CHANGES = _map(_pair(VALUE))
LEVEL = _object(
    {
        "name": TEXT, "status": STATUS, "why": TEXT, "value": _maybe(NUMBER), "lower_bound": _maybe(NUMBER),
        "exact_value": EXACT, "exact_lower_bound": EXACT, "of_answer": _maybe(NUMBER),
    }
)  # fmt: skip
COUNTERFACTUAL = _object(
    {
        "point": ROW, "changes": CHANGES, "sentences": _list(TEXT), "distance": NUMBER, "status": TEXT,
        "objectives": _map(NUMBER),
    }
)  # fmt: skip
ANSWER = _kind(
    "answer",
    {
        "status": STATUS, "meaning": TEXT, "why": TEXT, "goal": TEXT, "decision": VALUE, "wanted": TEXT,
        "outcomes": _maybe(_object({"name": TEXT, "values": _list(NUMBER)})),
        "distance_name": TEXT, "distance": _maybe(NUMBER), "lower_bound": _maybe(NUMBER),
        "exact_distance": EXACT, "exact_lower_bound": EXACT, "levels": _list(LEVEL), "oracle": TEXT,
        "seconds": NUMBER, "start": ROW, "counterfactuals": _list(COUNTERFACTUAL),
        "trace": _list(_object({"radius": _maybe(NUMBER), "verdict": TEXT, "seconds": NUMBER})),
        "notes": _list(TEXT),
    },
    {
        "calls": WHOLE, "certificate": TEXT,
        "together": _object({"count": WHOLE, "diversity": TEXT, "core": _list(TEXT)}),
    },
)  # fmt: skip
SAFE = _object({"ranges": _map(_list(VALUE)), "largest": TRUTH, "most": TRUTH, "certificates": WHOLE})
MENU = _kind(
    "menu",
    {
        "decision": VALUE, "wanted": TEXT, "complete": TRUTH, "why": TEXT,
        "ways": _list(
            _object({"features": _list(TEXT), "answer": ANSWER, "box": _maybe(SAFE), "ranges": _map(SAFE)})
        ),
        "cannot": _list(_object({"features": _list(TEXT), "oracle": TEXT, "seconds": NUMBER})),
        "undecided": _list(_list(TEXT)), "held": _list(TEXT), "sentences": _list(TEXT), "notes": _list(TEXT),
        "seconds": NUMBER,
    },
)  # fmt: skip
FRONT = _kind(
    "front",
    {
        "status": STATUS, "why": TEXT, "goal": TEXT, "objectives": _list(TEXT),
        "points": _list(
            _object(
                {"objectives": _map(NUMBER), "point": ROW, "changes": CHANGES, "below": _map(NUMBER),
                 "levels": _list(LEVEL)}
            )
        ),
        "empty": _list(_object({"below": _map(NUMBER), "status": TEXT})),
        "start": ROW, "seconds": NUMBER, "notes": _list(TEXT),
    },
)  # fmt: skip
STEP = _object(
    {
        "action": TEXT, "values": ROW, "changes": CHANGES, "effort": NUMBER, "discount": NUMBER, "cost": NUMBER,
        "exact_cost": EXACT, "consequences": _list(_object({"from": TEXT, "to": TEXT, "factor": NUMBER})),
    }
)  # fmt: skip
PLAN = _kind(
    "plan",
    {
        "status": STATUS, "meaning": TEXT, "why": TEXT, "goal": TEXT, "wanted": TEXT, "decision": VALUE,
        "world": TEXT, "horizon": WHOLE, "counts": _map(WHOLE), "others": _list({"type": "object"}),
        "cost": _maybe(NUMBER), "lower_bound": _maybe(NUMBER), "exact_cost": EXACT, "exact_lower_bound": EXACT,
        "gower": _maybe(NUMBER), "gower_bound": _maybe(NUMBER), "gower_limit": _maybe(NUMBER),
        "seconds": NUMBER, "start": ROW, "steps": _list(STEP), "notes": _list(TEXT),
    },
)  # fmt: skip
PLAN_FRONT = _kind("plan-front", {"by": TEXT, "points": _list(_object({"at_most": NUMBER, "plan": PLAN}))})
PLAN_AUDIT = _kind(
    "plan-audit",
    {
        "wanted": TEXT, "world": TEXT, "horizon": WHOLE, "why": TEXT, "table": _map(_map(_maybe(NUMBER))),
        "plans": _list(_object({"row": VALUE, **PLAN["properties"]})),
    },
)  # fmt: skip
VIOLATION = _maybe(_object({"inputs": _list(ROW), "decisions": _list(VALUE), "changes": CHANGES}))
VERDICT = _kind(
    "verdict",
    {
        "property": TEXT, "status": {"enum": ["proved", "violated", "unknown"]}, "finding": TEXT, "why": TEXT,
        "violation": VIOLATION, "witness": VIOLATION, "certified": TRUTH, "certificates": _list(TEXT),
        "questions": _object({"asked": WHOLE, "refuted": WHOLE}), "oracle": TEXT, "seconds": NUMBER,
        "notes": _list(TEXT), "figures": _map(NUMBER),
    },
)  # fmt: skip
# One entry a property: its verdict, or the error for which it could not be asked.
ENTRY: Schema = {"name": TEXT, "line": WHOLE, "error": TEXT}
VERDICTS = _kind(
    "verdicts",
    {
        "suite": TEXT,
        "results": _list(
            {
                "anyOf": [
                    _kind("verdict", ENTRY | {k: v for k, v in VERDICT["properties"].items() if k != "schema"}),
                    _object(ENTRY | {"property": TEXT, "status": {"const": "error"}}),
                ]
            }
        ),
    },
)
VNNLIB = _kind(
    "vnnlib",
    {"status": {"enum": ["sat", "unsat", "unknown", "timeout"]}, "why": TEXT, "inputs": _list(TEXT),
     "outputs": _list(TEXT), "boxes": WHOLE},
)  # fmt: skip

CHECK = _kind(
    "check",
    {
        "accepted": TRUTH, "status": {"enum": ["accepted", "refused", "undecided", "agreed"]}, "verdict": TEXT,
        "compared_with_model": TRUTH,
    },
    {"differences": _list(TEXT), "verified": _object({"status": TEXT, "words": TEXT})},
)  # fmt: skip
CHECKS = _kind(
    "checks",
    {
        "accepted": TRUTH,
        "files": _list(
            _object(
                {
                    "file": TEXT, "status": {"enum": ["accepted", "refused", "unusable", "not checked"]},
                    "kind": {"enum": ["by the checker", "by solvers"]}, "verdict": TEXT,
                }
            )
        ),
    },
)  # fmt: skip
INSPECTED_SPACE = _object(
    {
        "name": TEXT,
        "features": _list(
            _object(
                {
                    "name": TEXT, "kind": TEXT, "values": TEXT, "change": TEXT, "missing": TEXT, "encoding": TEXT,
                    "columns": WHOLE, "unit": TEXT,
                }
            )
        ),
        "columns": WHOLE, "rules": _list(TEXT), "notes": _list(TEXT),
    }
)  # fmt: skip
INSPECTED_WORLD = _object(
    {
        "name": TEXT,
        "actions": _list(
            _object(
                {
                    "name": TEXT, "parameters": _map(TEXT), "before": _list(TEXT), "changes": _list(TEXT),
                    "after": _list(TEXT), "cost": TEXT,
                }
            )
        ),
        "consequences": _list(_object({"from": TEXT, "to": TEXT, "factor": TEXT})),
    }
)  # fmt: skip
# Which of the keys there are depends on the kind of model.
INSPECTED_MODEL = _object(
    {"kind": TEXT},
    {
        "pipeline": TEXT, "coded by the model": _list(TEXT), "trees": WHOLE, "leaves": WHOLE, "layers": _list(TEXT),
        "columns": WHOLE, "inputs": _list(TEXT), "classes": _list(TEXT), "decision": TEXT, "arithmetic": TEXT,
        "oracle": TEXT,
    },
)  # fmt: skip
INSPECTION = _kind("inspection", {}, {"space": INSPECTED_SPACE, "world": INSPECTED_WORLD, "model": INSPECTED_MODEL})
FIGURE = _object(
    {"table": TEXT, "row": TEXT, "column": TEXT, "ours": VALUE},
    {
        "unit": _maybe(TEXT), "paper": _maybe(NUMBER), "rows": _maybe(NUMBER), "proved": _maybe(NUMBER),
        "alike": _maybe(TRUTH), "why": _maybe(TEXT),
    },
)  # fmt: skip
REPRODUCTION = _kind(
    "reproduction",
    {
        "name": TEXT, "title": TEXT, "source": TEXT, "setting": _list(TEXT), "notes": _list(TEXT), "rows": WHOLE,
        "proved": WHOLE, "unlike": _list(TEXT), "seconds": NUMBER, "figures": _list(FIGURE),
    },
)  # fmt: skip
REPRODUCTIONS = _kind(
    "reproductions",
    {"known": _list(_object({"name": TEXT, "title": TEXT, "source": TEXT, "only": _list(TEXT)}))},
)
DEMO = _kind("demo", {"answers": _list(_object({"title": TEXT, "answer": ANSWER}))})
DOCTOR = _kind(
    "doctor",
    {
        "versions": _map(TEXT),
        "tests": _list(_object({"name": TEXT, "ok": TRUTH, "seconds": NUMBER, "note": TEXT})),
    },
)


def _audit() -> Schema:
    """The whole audit; records and findings are what their classes say."""
    from mace.audit.findings import Findings
    from mace.audit.record import Record

    records = _list(_of(Record))
    return _kind(
        "audit",
        {
            "about": {"type": "object"}, "protected": _list(TEXT), "random_state": WHOLE,
            "period": _maybe(_pair({"type": "string", "format": "date-time"})),
            "findings": _of(Findings), "groups": _map(_list(TEXT)), "records": records, "extra": _map(records),
        },
    )  # fmt: skip


_SIMPLE: dict[Any, Schema] = {str: TEXT, bool: TRUTH, int: WHOLE, float: NUMBER, NoneType: {"type": "null"}, Any: {}}


def _of(hint: Any) -> Schema:
    """The schema of a type: of a dataclass, an object with a key for each field."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return {"enum": list(inside)}
    if origin in (Union, UnionType):
        return {"anyOf": [_of(one) for one in inside]}
    if origin is list:
        return _list(_of(inside[0]))
    if origin is tuple:
        if inside[-1] is Ellipsis:
            return _list(_of(inside[0]))
        return {"type": "array", "prefixItems": [_of(one) for one in inside], "minItems": len(inside)}
    if origin is dict:
        return _map(_of(inside[1]))
    assert is_dataclass(hint), hint
    hints = get_type_hints(hint)
    more = {"share": _maybe(NUMBER)} if hint is Share else {}
    return _object({field.name: _of(hints[field.name]) for field in fields(hint)} | more)


@cache
def schema(kind: str) -> Schema:
    """The schema of a kind, as a document of its own."""
    known: dict[str, Schema] = {
        "answer": ANSWER, "menu": MENU, "front": FRONT, "plan": PLAN, "plan-front": PLAN_FRONT,
        "plan-audit": PLAN_AUDIT, "verdict": VERDICT, "verdicts": VERDICTS,
        "vnnlib": VNNLIB, "audit": _audit(), "check": CHECK, "checks": CHECKS, "inspection": INSPECTION,
        "reproduction": REPRODUCTION, "reproductions": REPRODUCTIONS, "demo": DEMO, "doctor": DOCTOR,
    }  # fmt: skip
    return {"$schema": DRAFT, "title": name_of(kind)} | known[kind]


def all_schemas() -> Schema:
    """Every kind in one document: what satisfies it satisfies the schema of its kind."""
    kinds = {kind: {k: v for k, v in schema(kind).items() if k not in ("$schema", "title")} for kind in VERSIONS}
    return {
        "$schema": DRAFT,
        "title": "What mace writes as JSON",
        "oneOf": [{"$ref": f"#/$defs/{kind}"} for kind in kinds],
        "$defs": kinds,
    }
