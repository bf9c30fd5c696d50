"""The linear relaxation of one node, from its box to its multipliers; compiled, see `networks_model` for the arrays.

In:  a box cut to the ball, bounds and phases of the hidden units, one part of the goal.
Out: the bound that the multipliers prove (in floating point), the multipliers, and the relaxed point with, for every
     way to branch, about how much of the distance the relaxation loses there.
How: the variables are the change of each grid axis in each direction (an l0 jump is spread over the way to the end of
the box), a share of each level, the largest change, and the output of each ReLU that may be on or off. All costs are
>= 0, so the dual simplex needs no first phase, and a node without points ends in a ray.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mace.solve.compiled import compiled
from mace.solve.networks.kernels import EMPTY, INFINITY, dual_bound, dual_simplex
from mace.solve.networks.model import LEVELS, Array, Axes, Hull, Net, Units


class Relaxed(NamedTuple):
    """What the relaxation of a node says of one part of the goal.

    bound:  the distance that the multipliers prove, in floats.    status: of the simplex.
    goal, slope, mu, share: multipliers of the comparisons, the ReLUs (H, N), the phases (H, N), the axes (J,).
    point:  (I,) the relaxed point.    loss, scores: of items (I,) and ReLUs (H, N), about how much is lost there.
    weight: (H, N) each hidden unit's coefficient.
    """

    bound: float
    status: int
    goal: Array
    slope: Array
    mu: Array
    share: Array
    point: Array
    loss: Array
    scores: Array
    weight: Array


@compiled
def relax(
    distance: bool,
    cutoff: float,
    rounds: int,
    C: Array,
    than: Array,
    axes: Axes,
    net: Net,
    hull: Hull,
    units: Units,
) -> Relaxed:
    """Solve one node.

    Long because it is one linear program: its variables, rows and multipliers are numbered as they are made, and what
    is read off the last basis needs all of these numbers. Split up, each part would hand a dozen arrays to the next.
    """
    kind, first, count, jump, rate, peak, change, _, _ = axes
    W0, W, B, relu, size = net
    lo, hi, on = hull
    L, U, phase = units
    H, N = L.shape
    J, items, G = len(kind), W0.shape[0], len(than)
    unstable, phases = 0, 0
    for layer in range(H):
        for i in range(size[layer]):
            if relu[layer] and L[layer, i] < 0.0 < U[layer, i]:
                unstable += 1
            if phase[layer, i] != 0:
                phases += 1
    peaked = 0
    if distance:
        for j in range(J):
            if peak[j] > 0:
                peaked += 1
    columns = 2 * J + items + unstable + 1
    rows = G + 2 * unstable + phases + peaked + J
    cost, top = np.zeros(columns), np.full(columns, INFINITY)
    axis, item, sign = np.full(columns, -1), np.full(columns, -1), np.zeros(columns)
    base = np.zeros(items)
    least = np.zeros(J)  # the change that the base point makes, for the largest change
    n, start = 0, 0.0
    for j in range(J):
        f = first[j]
        if kind[j] != LEVELS:
            if lo[j] <= 0.0 <= hi[j]:
                for side in range(2):
                    reach = hi[j] if side == 0 else -lo[j]
                    if reach > 0.0:
                        axis[n], item[n], sign[n], top[n] = j, f, 1.0 - 2.0 * side, reach
                        cost[n] = rate[j] + jump[j] / reach
                        n += 1
            else:
                near, far, way = (lo[j], hi[j], 1.0) if lo[j] > 0.0 else (hi[j], lo[j], -1.0)
                base[f] = near
                least[j] = abs(near)
                start += jump[j] + rate[j] * abs(near)
                if far != near:
                    axis[n], item[n], sign[n], top[n] = j, f, way, abs(far - near)
                    cost[n] = rate[j]
                    n += 1
        else:
            chosen, cheapest = -1, INFINITY
            for i in range(f, f + count[j]):
                if on[i]:
                    c = jump[j] + rate[j] * change[i] if change[i] > 0 else 0.0
                    if c < cheapest:
                        chosen, cheapest = i, c
            base[chosen] = 1.0
            least[j] = change[chosen]
            start += cheapest
            for i in range(f, f + count[j]):
                if on[i] and i != chosen:
                    axis[n], item[n], sign[n], top[n] = j, i, 1.0, 1.0
                    cost[n] = (jump[j] + rate[j] * change[i] if change[i] > 0 else 0.0) - cheapest
                    n += 1
    inputs = n
    if distance and peaked > 0:
        cost[n] = 1.0
        largest = n
        n += 1
    else:
        largest = -1
    if not distance:
        cost[:] = 0.0
        start = 0.0
    hidden = np.full((H, N), -1)
    T, b = np.zeros((rows, columns)), np.zeros(rows)
    upper, lower, fixed = np.full((H, N), -1), np.full((H, N), -1), np.full((H, N), -1)
    m = G  # the goal's rows come first
    # Invariant: output i of the layer below is expression[i] . variables + offset[i].
    expression, offset = np.zeros((N, columns)), np.zeros(N)
    zs, zo = np.zeros((H, N, columns)), np.zeros((H, N))
    for layer in range(H + 1):
        if layer == 0:
            z, o = np.zeros((N, columns)), B[0] + base @ W0
            for c in range(inputs):
                chosen = -1
                if kind[axis[c]] == LEVELS:
                    for i in range(first[axis[c]], first[axis[c]] + count[axis[c]]):
                        if base[i] == 1.0:
                            chosen = i
                for i in range(N):
                    z[i, c] = sign[c] * W0[item[c], i] - (W0[chosen, i] if chosen >= 0 else 0.0)
        else:
            z, o = W[layer].T @ expression, W[layer].T @ offset + B[layer]
        if layer == H:
            for g in range(G):  # c . s - than >= 0
                T[g] = -(C[g] @ z)
                b[g] = C[g] @ o - than[g]
            break
        zs[layer], zo[layer] = z, o
        expression, offset = np.zeros((N, columns)), np.zeros(N)
        for i in range(size[layer]):
            below, above = L[layer, i], U[layer, i]
            if phase[layer, i] != 0:
                fixed[layer, i] = m
                T[m] = -phase[layer, i] * z[i]
                b[m] = phase[layer, i] * o[i]
                m += 1
            if relu[layer] and above <= 0.0:
                continue
            if not relu[layer] or below >= 0.0:
                expression[i], offset[i] = z[i], o[i]
                continue
            hidden[layer, i] = n
            expression[i, n] = 1.0
            top[n] = above
            lower[layer, i] = m  # z <= a
            T[m] = z[i]
            T[m, n] -= 1.0
            b[m] = -o[i]
            m += 1
            steep = above / (above - below)
            upper[layer, i] = m  # a <= steep (z - below)
            T[m] = -steep * z[i]
            T[m, n] += 1.0
            b[m] = steep * (o[i] - below)
            m += 1
            n += 1
    ends = np.full(J, -1)
    for j in range(J):
        several = 0
        for c in range(inputs):
            if axis[c] == j and kind[j] == LEVELS:
                several += 1
        if several > 1:  # shares of levels sum to at most 1; the base has the rest
            for c in range(inputs):
                if axis[c] == j:
                    T[m, c] = 1.0
            b[m] = 1.0
            m += 1
        if distance and peak[j] > 0:
            ends[j] = m
            for c in range(inputs):
                if axis[c] == j:
                    T[m, c] = peak[j] * (1.0 if kind[j] != LEVELS else change[item[c]] - least[j])
            T[m, largest] = -1.0
            b[m] = -peak[j] * least[j]
            m += 1
    T = T[:m, :n].copy()
    # Rows are scaled to size 1, so that one tolerance fits scores of any magnitude.
    scale = np.ones(m)
    for r in range(m):
        biggest = np.abs(T[r]).max() if n > 0 else 0.0
        if biggest > 1e-290:  # below that, its inverse may be infinite
            scale[r] = 1.0 / biggest
            T[r] *= scale[r]
    x, d = b[:m] * scale, cost[:n].copy()
    ended = dual_simplex(T, x, d, top[:n], start, cutoff + 1e-12, rounds)
    status, basic, free, full = ended.status, ended.basic, ended.free, ended.full
    y = np.zeros(m)
    for c in range(n):
        if free[c] >= n:
            y[free[c] - n] = max(d[c], 0.0)
    ray = np.zeros(m)
    if status == EMPTY:
        r, way = ended.row, ended.way
        if basic[r] >= n:
            ray[basic[r] - n] = 1.0
        for c in range(n):
            if free[c] >= n:
                ray[free[c] - n] = max(way * T[r, c], 0.0)
        if distance:
            y += ray * (max(2.0 * cutoff - ended.objective, 1.0) / ended.violation)
        else:
            y = ray
    y *= scale
    goal, y1, mu, share, slope = y[:G].copy(), np.zeros((H, N)), np.zeros((H, N)), np.zeros(J), np.zeros((H, N))
    for layer in range(H):
        for i in range(size[layer]):
            if lower[layer, i] >= 0:
                y1[layer, i] = y[lower[layer, i]]
            if fixed[layer, i] >= 0:
                mu[layer, i] = y[fixed[layer, i]]
    total = 0.0
    for j in range(J):
        if ends[j] >= 0:
            share[j] = y[ends[j]]
            total += share[j]
    for j in range(J):
        share[j] = share[j] * peak[j] / max(total, 1.0)
    weight = np.zeros((H, N))
    bound = dual_bound(distance, goal, y1, mu, share, C, than, axes, net, hull, units, slope, weight)
    for j in range(J):
        share[j] = share[j] / peak[j] if peak[j] > 0 else 0.0

    values = np.zeros(n)
    for c in range(n):
        if free[c] < n and full[c]:
            values[free[c]] = top[free[c]]
    for r in range(m):
        if basic[r] < n:
            values[basic[r]] = x[r]
    point = base.copy()
    loss = np.zeros(items)
    for c in range(inputs):
        j, v = axis[c], min(max(values[c], 0.0), top[c])
        if kind[j] != LEVELS:
            point[item[c]] += sign[c] * v
            if v > 1e-9 * top[c] and jump[j] > 0.0 and lo[j] <= 0.0 <= hi[j]:  # the rest of an l0 jump that was spread
                loss[item[c]] = max(loss[item[c]], jump[j] * (1.0 - v / top[c]))
        else:
            point[item[c]] += v
            for i in range(first[j], first[j] + count[j]):
                if base[i] == 1.0:
                    point[i] -= v
    scores = np.zeros((H, N))
    for layer in range(H):
        for i in range(size[layer]):
            if hidden[layer, i] >= 0:
                z = zs[layer, i, :n] @ values + zo[layer, i]
                wrong = abs(values[hidden[layer, i]] - max(z, 0.0))
                if wrong > 1e-9 * (U[layer, i] - L[layer, i]):
                    # The small share counts where the goal costs nothing yet, so that no multiplier is positive.
                    scores[layer, i] = (abs(weight[layer, i]) + 1e-9) * wrong
    return Relaxed(bound, status, goal, slope, mu, share, point, loss, scores, weight)
