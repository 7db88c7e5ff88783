"""Eigenvalues and eigenvectors of a symmetric matrix, bit for bit equal on every machine.

Libraries choose their kernels by the processor and distribute work to threads, so the last bits of
their results differ. Here every sum has one order: Householder reflections make the matrix
tridiagonal, and implicitly shifted QL iterations reduce it to its diagonal. Inner loops run along
rows without sums across them, so they compile to vector instructions.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from segapsith.jit import kernel

__all__ = ["eigen"]

Matrix = NDArray[np.float64]

_EPSILON = 2.0**-52
_MAX_ITERATIONS = 60
"""For one eigenvalue; two are usual."""


def eigen(matrix: Matrix) -> tuple[Matrix, Matrix]:
    """Return eigenvalues, descending, and orthonormal eigenvectors as rows.

    The entry of each vector with the largest absolute value (the first of equal ones) is positive.

    >>> values, vectors = eigen(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> values.round(9).tolist(), vectors.round(3).tolist()
    ([3.0, 1.0], [[0.707, 0.707], [0.707, -0.707]])
    """
    scale = float(np.abs(matrix).max(initial=0.0))
    if not scale:
        return np.zeros(len(matrix)), np.eye(len(matrix))
    diagonal, off_diagonal, rotation = _tridiagonal(matrix / scale)
    vectors = np.ascontiguousarray(rotation.T)
    values = _diagonal(diagonal, off_diagonal, vectors)
    order = np.argsort(-values, kind="stable")
    vectors = vectors[order]
    signs = np.sign(vectors[np.arange(len(order)), np.abs(vectors).argmax(axis=1)])
    return values[order] * scale, vectors * signs[:, None]


@kernel
def _tridiagonal(given: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Return diagonal and off-diagonal of T, and Q, with A = Q T Q' (Householder 1958).

    Step k reflects the part of column k below the diagonal onto its first entry, by
    H = 1 - u u' / h, h = u' u / 2; the rest becomes H A H = A - u q' - q u'.
    """
    n = len(given)
    a = given.copy()
    diagonal, beside = np.zeros(n), np.zeros(n)
    u_of, h_of = np.zeros((n, n)), np.zeros(n)
    q, before = np.zeros(n), np.zeros(n)  # q of this step and of the step before
    last = -1  # the step before that reflected something: `a` lacks the rest of its effect
    for k in range(n - 1):
        if last >= 0:
            _reflect(a[k, k:], u_of[last, k:], before[k:], u_of[last, k], before[k])
        diagonal[k] = a[k, k]
        beside[k] = a[k, k + 1]
        square = 0.0
        for j in range(k + 2, n):
            square += a[k, j] * a[k, j]
        h = 0.0
        if square > 0.0:  # else there is nothing to reflect
            length = np.sqrt(square + a[k, k + 1] * a[k, k + 1])
            u = u_of[k]
            u[k + 1 :] = a[k, k + 1 :]
            beside[k] = -length if u[k + 1] > 0 else length
            u[k + 1] -= beside[k]
            h = (square + u[k + 1] * u[k + 1]) / 2
            h_of[k] = h
            q[:] = 0.0
        # Each row is brought up to date and used at once, while it is in the cache.
        for j in range(k + 1, n):
            if last >= 0:
                _reflect(
                    a[j, k + 1 :], u_of[last, k + 1 :], before[k + 1 :], u_of[last, j], before[j]
                )
            if h > 0.0:
                _add(q[k + 1 :], a[j, k + 1 :], u_of[k, j] / h)
        last = -1
        if h > 0.0:
            u = u_of[k]
            along = 0.0
            for j in range(k + 1, n):
                along += u[j] * q[j]
            _add(q[k + 1 :], u[k + 1 :], -along / (2 * h))
            before[:] = q
            last = k
    if n:
        if last >= 0:
            _reflect(
                a[n - 1, n - 1 :],
                u_of[last, n - 1 :],
                before[n - 1 :],
                u_of[last, n - 1],
                before[n - 1],
            )
        diagonal[n - 1] = a[n - 1, n - 1]
    return diagonal, beside, _turns(u_of, h_of)


@kernel
def _turns(u_of: Matrix, h_of: Matrix) -> Matrix:
    """Return the product of the reflections; each row is changed and used while it is in the cache."""
    n = len(h_of)
    q, before = np.zeros(n), np.zeros(n)
    turns, last = np.eye(n), -1
    for k in range(n - 2, -1, -1):
        if h_of[k] == 0.0:
            continue
        q[:] = 0.0
        for j in range(k + 1, n):
            if last >= 0 and j > last:
                _add(turns[j, last + 1 :], before[last + 1 :], -u_of[last, j])
            _add(q[k + 1 :], turns[j, k + 1 :], u_of[k, j] / h_of[k])
        before[:] = q
        last = k
    if last >= 0:
        for j in range(last + 1, n):
            _add(turns[j, last + 1 :], before[last + 1 :], -u_of[last, j])
    return turns


@kernel
def _reflect(row: Matrix, u: Matrix, q: Matrix, own_u: float, own_q: float) -> None:
    """Subtract one row of u q' + q u'."""
    for i in range(len(row)):
        row[i] -= own_u * q[i] + own_q * u[i]


@kernel
def _add(out: Matrix, row: Matrix, factor: float) -> None:
    for i in range(len(out)):
        out[i] += factor * row[i]


@kernel
def _diagonal(given: Matrix, given_beside: Matrix, vectors: Matrix) -> Matrix:
    """Return the eigenvalues of a tridiagonal matrix, and rotate the rows of `vectors` with it (QL
    with implicit shifts: Martin & Wilkinson 1968, Dubrulle 1970)."""
    d, e = given.copy(), given_beside.copy()
    n = len(d)
    largest = 0.0
    for i in range(n):
        largest = max(largest, abs(d[i]) + abs(e[i]))
    tolerance = _EPSILON * largest
    for low in range(n):
        for _ in range(_MAX_ITERATIONS):
            high = low
            while high < n - 1 and abs(e[high]) > tolerance:
                high += 1
            if high == low:
                break
            # The shift is the eigenvalue of the upper left 2 × 2 matrix that is closer to d[low].
            half = (d[low + 1] - d[low]) / (2 * e[low])
            root = np.sqrt(half * half + 1)
            g = d[high] - d[low] + e[low] / (half + (root if half >= 0 else -root))
            s, c, p = 1.0, 1.0, 0.0
            is_complete = True
            for i in range(high - 1, low - 1, -1):
                f, b = s * e[i], c * e[i]
                r = np.sqrt(f * f + g * g)
                e[i + 1] = r
                if r == 0.0:  # the matrix decouples before the end
                    d[i + 1] -= p
                    e[high] = 0.0
                    is_complete = False
                    break
                s, c = f / r, g / r
                g = d[i + 1] - p
                r = (d[i] - g) * s + 2 * c * b
                p = s * r
                d[i + 1] = g + p
                g = c * r - b
                one, other = vectors[i], vectors[i + 1]
                for k in range(n):
                    x, y = one[k], other[k]
                    one[k] = c * x - s * y
                    other[k] = s * x + c * y
            if is_complete:
                d[low] -= p
                e[low] = g
                e[high] = 0.0
    return d
