"""Properties in VNN-LIB about networks in ONNX, answered as the tools of VNN-COMP answer them.

Nothing heavy is imported before the function is called.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mace.base.deadline import Deadline
    from mace.verify.vnnlib.answer import VnnlibAnswer
    from mace.verify.vnnlib.read import Specification


def verify_vnnlib(
    network: object, specification: Specification | str | Path, *, timeout: float | Deadline | None = 60.0
) -> VnnlibAnswer:
    """Whether some input of a property's boxes has the outputs that it names.

    network:       the path of an .onnx file, a ModelProto, or what `load_model` made of one.
    specification: the path of a .vnnlib or .vnnlib.gz file, or what `read_property` made of one.
    timeout:       seconds; None for no limit.
    Returns a VnnlibAnswer (see `mace.verify.vnnlib.run` for what each status promises), whose text is what the tools of
    VNN-COMP print. Raises FileError, ProgramError and ModelError for files that are not read, MaceError where the two
    do not fit together; a limit does not raise.
    """
    from mace.verify.vnnlib.run import answer_of

    return answer_of(network, specification, timeout)


__all__ = ["verify_vnnlib"]
