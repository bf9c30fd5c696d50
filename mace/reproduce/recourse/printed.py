"""What the paper prints, as facts: coverage, improvement, seconds.

Columns are Adult l0 l1 linf, Credit l0 l1 linf, COMPAS l0 l1 linf; "-" where the paper has no figure.
Source: Karimi et al. 2020, tables 2, 3 and 6; of tables 4 and 7 see `age.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

SOURCE = "Karimi, Barthe, Balle, Valera 2020 (AISTATS)"
DATA = ("adult", "credit", "compas")
NORMS = ("l0", "l1", "linf")
CELLS = tuple((data, norm) for data in DATA for norm in NORMS)

Printed = Mapping[tuple[str, ...], Mapping[tuple[str, str], float]]


def _read(text: str, keys: int) -> Printed:
    """Lines of so many keys and nine figures."""
    found: dict[tuple[str, ...], dict[tuple[str, str], float]] = {}
    for line in text.strip().splitlines():
        words = line.split()
        figures = zip(CELLS, words[keys:], strict=True)
        found[tuple(words[:keys])] = {cell: float(word) for cell, word in figures if word != "-"}
    return found


# Model, method: percent of the rows that got an answer.
COVERAGE = _read(
    """
    tree     MACE 100 100 100  100 100 100  100 100 100
    tree     MO   100 100 100  100 100 100  100 100 100
    tree     PFT    0   0   0   68  68  68   74  74  74
    forest   MACE 100 100 100  100 100 100  100 100 100
    forest   MO   100 100 100  100 100 100  100 100 100
    forest   PFT    0   0   0   99  99  99  100 100 100
    logistic MACE 100 100 100  100 100 100  100 100 100
    logistic MO   100 100 100  100 100 100  100 100 100
    logistic AR     -  18  .4    - 100 100    - 100 100
    mlp      MACE 100 100 100  100 100 100  100 100 100
    mlp      MO   100 100 100  100 100 100  100 100 100
    """,
    2,
)

# Model, method that MACE is compared with, gap: 100 E[1 - d_MACE / d_other] over the rows that both answer.
IMPROVEMENT = _read(
    """
    tree     MO  1e-3  47 80 70  67 66 47   1  5  5
    tree     MO  1e-5  47 81 72  67 96 94   1  5  5
    tree     PFT 1e-3   -  -  -  53 87 85  14 56 54
    tree     PFT 1e-5   -  -  -  53 97 96  15 55 54
    forest   MO  1e-3  51 81 69  68 61 38   1  6  6
    forest   MO  1e-5  51 82 71  68 97 96   1  6  6
    forest   PFT 1e-3   -  -  -  53 84 81   4 28 27
    forest   PFT 1e-5   -  -  -  53 96 96   4 28 27
    logistic MO  1e-3  62 92 86  80 82 80   3  8  6
    logistic MO  1e-5  62 93 88  80 82 81   3  6  6
    logistic AR  1e-3   -  3 89   - 39 67   - 10 38
    logistic AR  1e-5   -  5 91   - 42 71   - 10 38
    mlp      MO  1e-3  60 92 91  77 85 91   1  3  3
    mlp      MO  1e-5  60 93 93  77 96 96   1  3  3
    """,
    3,
)

# Model, gap: MACE's mean seconds for a row, on a Xeon of 2.6 GHz.
SECONDS = _read(
    """
    tree     1e-1     5.65    3.01    3.47     3.48   3.44    2.39    2.41   1.22   1.62
    tree     1e-3    17.59    9.58   10.43    15.84   7.55    4.44    7.07   5.72   4.99
    tree     1e-5    35.32   20.35   20.44    25.47  18.46   10.58   13.49   9.22  10.76
    forest   1e-1    27.98   17.68   19.05    28.12  21.88   21.47    8.07   3.18   3.52
    forest   1e-3    69.19   55.79   52.31    57.29  40.75   26.21   15.05  10.75   8.53
    forest   1e-5    89.81   84.89   78.49   107.83  90.04   72.38   33.26  19.95  17.22
    logistic 1e-1      .85     .66     .74      .33   1.17     .49     .21    .19    .22
    logistic 1e-3     2.22    3.55    5.15      .87  10.57    6.11     .52    .31    .54
    logistic 1e-5     2.73    6.60   13.32     1.19  25.10   16.21     .84    .72    .77
    mlp      1e-1     2586    8070    5091     1743   3432   10309      59    158     90
    mlp      1e-3     4187   34101    7094     1703   3304    8689      79    180    122
    mlp      1e-5     5888   44470   19712     1901   4736   11129     100    257    203
    """,
    2,
)

# What the paper says of the baselines' seconds: from the fastest setting to the slowest.
SECONDS_OF_OTHERS = {
    **{(model, "MO"): (0.12, 7.5) for model in ("tree", "forest", "logistic", "mlp")},
    ("tree", "PFT"): (0.12, 1.9),
    ("forest", "PFT"): (1.8, 13.4),
    ("logistic", "AR"): (0.06, 2.05),
}
