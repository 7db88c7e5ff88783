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
    q = np.zeros(n)
    for k in range(n - 1):
        diagonal[k] = a[k, k]
        beside[k] = a[k, k + 1]
        square = 0.0
        for j in range(k + 2, n):
            square += a[k, j] * a[k, j]
        if square == 0.0:  # nothing to reflect
            continue
        length = np.sqrt(square + a[k, k + 1] * a[k, k + 1])
        u = u_of[k]
        u[k + 1 :] = a[k, k + 1 :]
        beside[k] = -length if u[k + 1] > 0 else length
        u[k + 1] -= beside[k]
        h = (square + u[k + 1] * u[k + 1]) / 2
        h_of[k] = h
        q[:] = 0.0
        for j in range(k + 1, n):
            _add(q[k + 1 :], a[j, k + 1 :], u[j] / h)
        along = 0.0
        for j in range(k + 1, n):
            along += u[j] * q[j]
        _add(q[k + 1 :], u[k + 1 :], -along / (2 * h))
        for j in range(k + 1, n):
            row, uj, qj = a[j], u[j], q[j]
            for i in range(k + 1, n):
                row[i] -= uj * q[i] + qj * u[i]
    if n:
        diagonal[n - 1] = a[n - 1, n - 1]
    turns = np.eye(n)
    for k in range(n - 2, -1, -1):
        if h_of[k] == 0.0:
            continue
        u = u_of[k]
        q[:] = 0.0
        for j in range(k + 1, n):
            _add(q[k + 1 :], turns[j, k + 1 :], u[j] / h_of[k])
        for j in range(k + 1, n):
            _add(turns[j, k + 1 :], q[k + 1 :], -u[j])
    return diagonal, beside, turns


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
