"""Programs as logic, in pySMT's own terms; there is no second term language.

In:  programs of the core language.    Out: characteristic formulae, lists of path formulae, SMT-LIB scripts.
Promise: a formula holds exactly when the interpreter returns that result.
Source: Karimi, Barthe, Balle, Valera 2020, appendix A.
"""

from mace.language.logic.paths import PathFormula, count_paths, formula_of, path_list, ranges_of, translate
from mace.language.logic.show import show_paths, to_smtlib

__all__ = ["PathFormula", "count_paths", "formula_of", "path_list", "ranges_of", "show_paths", "to_smtlib", "translate"]
