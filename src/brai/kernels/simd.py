"""SIMD operations on bit vectors: eight words of one bit vector, or one word of each of eight bit vectors.

The number of words of a bit vector is a multiple of eight; bits beyond the rows are zero. A block interleaves
eight bit vectors: their i-th words are contiguous. So one instruction works on all eight, and each has its own
lane for counting. The loops have no branches: with one bit vector at a time, mispredicted branches took most of
the time of a test. Compilers do not vectorise this automatically, so the functions are written in LLVM IR, which
is portable. Each function is defined in Python first; this definition is used if the JIT is disabled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils as _cgutils
from numba.core import config, errors
from numba.extending import intrinsic
from numba.np import arrayobj as _arrayobj

cgutils: Any = _cgutils  # numba has no type annotations
make_array: Any = _arrayobj.make_array
types: Any = numba.types

LANES = 8


def ones(word: Any) -> int:
    """Number of ones (popcount) in a word."""
    return int(word).bit_count()


def in_common(a: Any, b: Any) -> int:
    """Popcount of the AND of two bit vectors."""
    return sum(ones(own & other) for own, other in zip(a, b, strict=True))


def intersect(a: Any, b: Any, out: Any) -> int:
    """Write the AND of two bit vectors to ``out``; returns its popcount."""
    out[:] = a & b
    return in_common(a, b)


def count_lanes(block: Any, bits: Any, first: int, r: int, held: Any, out: Any) -> None:
    """Split each lane by the r states with bit vectors bits[first:first+r]; writes counts to out[state, lane].

    ``held`` contains the popcounts of the lanes: the count of the last state is the remainder.
    """
    out[r - 1] = held
    for a in range(r - 1):
        for lane in range(LANES):
            out[a, lane] = in_common(block[:, lane], bits[first + a])
        out[r - 1] -= out[a]


def weigh_lanes(
    block: Any, bits: Any, first: int, r: int, held: Any, place: Any, weight: Any, values: Any
) -> tuple[int, int]:
    """Split lanes as in `count_lanes`. Returns the sum of the values of all counts, and the weighted states.

    The value of a count is values.flat[place + count] with the lane's ``place``. The number of states that occur
    in a lane, minus 1, is multiplied by the lane's ``weight``.
    """
    counts = np.empty((r, LANES), np.int64)
    count_lanes(block, bits, first, r, held, counts)
    seen = (counts > 0).sum(axis=0) - 1
    return int(values.ravel()[place + counts].sum()), int((weight * seen).sum())


def fill_block(block: Any, strings: Any, sources: Any, bits: Any, others: Any) -> None:
    """Set lane j to the AND of strings[sources[j]] and bits[others[j]]."""
    for lane in range(LANES):
        block[:, lane] = strings[sources[lane]] & bits[others[lane]]


def _check(*arrays: Any) -> None:
    """Raise TypingError unless arrays are C-contiguous with elements of 64 bits, as the code below assumes."""
    for own in arrays:
        if own.layout != "C" or own.dtype.bitwidth != 64:
            raise errors.TypingError(f"{own} is not a C-contiguous array of 64-bit words")


class _Vectors:
    """Generates LLVM code for vectors of eight words."""

    word, index = ir.IntType(64), ir.IntType(32)
    vector = ir.VectorType(word, LANES)
    zeros, nothing = ir.Constant(vector, [0] * LANES), ir.Constant(vector, ir.Undefined)
    alike = ir.Constant(ir.VectorType(index, LANES), [0] * LANES)

    def __init__(self, context: Any, builder: Any, kinds: Any, arguments: Any):
        self.builder, self.given = builder, list(arguments)
        self.words: Any = None  # number of words of a bit vector
        for k, (kind, own) in enumerate(zip(kinds, arguments, strict=True)):
            if isinstance(kind, types.Array):
                array = make_array(kind)(context, builder, own)
                self.given[k] = array.data
                if k == 0:
                    self.words = cgutils.unpack_tuple(builder, array.shape)[0]
        self.eights = builder.udiv(self.words, ir.Constant(self.word, LANES))

    def at(self, pointer: Any, i: Any = None) -> Any:
        """Pointer to the i-th vector."""
        vectors = self.builder.bitcast(pointer, self.vector.as_pointer())
        return vectors if i is None else self.builder.gep(vectors, [i])

    def load(self, pointer: Any, i: Any = None) -> Any:
        """Load the i-th vector."""
        made = self.builder.load(self.at(pointer, i))
        made.align = 8
        return made

    def store(self, vector: Any, pointer: Any, i: Any = None) -> None:
        """Store a vector as the i-th."""
        self.builder.store(vector, self.at(pointer, i)).align = 8

    def eight_from(self, i: Any) -> list[Any]:
        """The indices 8 i to 8 i + 7."""
        first = self.builder.mul(i, ir.Constant(self.word, LANES))
        return [self.builder.add(first, ir.Constant(self.word, k)) for k in range(LANES)]

    def add(self, variable: Any, own: Any) -> None:
        """Add to a variable."""
        self.builder.store(self.builder.add(self.builder.load(variable), own), variable)

    def elements(self, vector: Any) -> list[Any]:
        """The words of a vector."""
        return [self.builder.extract_element(vector, ir.Constant(self.index, lane)) for lane in range(LANES)]

    def ones(self, vector: Any) -> Any:
        """Popcount of each word."""
        kind = ir.FunctionType(self.vector, [self.vector])
        name = f"llvm.ctpop.v{LANES}i64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [vector])

    def turned(self, rows: list[Any]) -> list[Any]:
        """Transpose eight vectors: off-diagonal blocks of size 1, 2, then 4 are exchanged."""
        size = 1
        while size < LANES:
            after = list(rows)
            for k in range(LANES):
                if not k & size:
                    for to, half in ((k, 0), (k | size, size)):
                        picked = [(i & ~size | half) + (LANES if i & size else 0) for i in range(LANES)]
                        mask = ir.Constant(ir.VectorType(self.index, LANES), picked)
                        after[to] = self.builder.shuffle_vector(rows[k], rows[k | size], mask)
            rows, size = after, 2 * size
        return rows

    def sum(self, vector: Any) -> Any:
        """The sum of the words of a vector."""
        kind = ir.FunctionType(self.word, [self.vector])
        name = f"llvm.vector.reduce.add.v{LANES}i64"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, name), [vector])

    def common(self, out: Any = None) -> Any:
        """Popcount of the AND of the first two arguments, which is stored in ``out`` if given."""
        a, b = self.given[:2]
        counts = cgutils.alloca_once_value(self.builder, self.zeros)
        with cgutils.for_range(self.builder, self.eights) as loop:
            both = self.builder.and_(self.load(a, loop.index), self.load(b, loop.index))
            self.add(counts, self.ones(both))
            if out is not None:
                self.store(both, out, loop.index)
        return self.sum(self.builder.load(counts))

    def split(self, each: Callable[[Any, Any], None]) -> None:
        """Call ``each`` with the index and the counts of each state, as in `count_lanes`."""
        build, (block, bits, first, r, held) = self.builder, self.given[:5]
        last = build.sub(r, ir.Constant(self.word, 1))
        left = cgutils.alloca_once_value(build, self.load(held))
        counts = cgutils.alloca_once(build, self.vector)
        with cgutils.for_range(build, last) as states:
            string = build.gep(bits, [build.mul(build.add(first, states.index), self.words)])
            build.store(self.zeros, counts)
            with cgutils.for_range(build, self.eights) as place:
                for at in self.eight_from(place.index):
                    word = build.load(build.gep(string, [at]))
                    one = build.insert_element(self.nothing, word, ir.Constant(self.index, 0))
                    both = build.and_(build.shuffle_vector(one, self.nothing, self.alike), self.load(block, at))
                    self.add(counts, self.ones(both))
            found = build.load(counts)
            build.store(build.sub(build.load(left), found), left)
            each(states.index, found)
        each(last, build.load(left))


if not config.DISABLE_JIT:  # type: ignore[attr-defined,unused-ignore]

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def in_common(typing, a, b):  # type: ignore[no-untyped-def]
        """LLVM version of the function above."""
        _check(a, b)

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            return _Vectors(context, builder, signature.args, arguments).common()

        return types.int64(a, b), code

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def intersect(typing, a, b, out):  # type: ignore[no-untyped-def]
        """LLVM version of the function above."""
        _check(a, b, out)

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature.args, arguments)
            return vectors.common(vectors.given[2])

        return types.int64(a, b, out), code

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def count_lanes(typing, block, bits, first, r, held, out):  # type: ignore[no-untyped-def]
        """LLVM version of the function above."""
        _check(block, bits, held, out)

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature.args, arguments)
            vectors.split(lambda state, counts: vectors.store(counts, vectors.given[5], state))
            return context.get_dummy_value()

        return types.void(block, bits, types.int64, types.int64, held, out), code

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    def fill_block(typing, block, strings, sources, bits, others):  # type: ignore[no-untyped-def]
        """LLVM version of the function above; transposes 8 × 8 words at a time."""
        _check(block, strings, sources, bits, others)

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature.args, arguments)
            to, strings, sources, bits, others = vectors.given
            pairs = []
            for lane in range(LANES):
                at = ir.Constant(vectors.word, lane)
                places = [builder.load(builder.gep(own, [at])) for own in (sources, others)]
                starts = [builder.mul(own, vectors.words) for own in places]
                pairs.append((builder.gep(strings, [starts[0]]), builder.gep(bits, [starts[1]])))
            with cgutils.for_range(builder, vectors.eights) as loop:
                rows = [builder.and_(*(vectors.load(own, loop.index) for own in pair)) for pair in pairs]
                for row, at in zip(vectors.turned(rows), vectors.eight_from(loop.index), strict=True):
                    vectors.store(row, to, at)
            return context.get_dummy_value()

        return types.void(block, strings, sources, bits, others), code

    @intrinsic  # type: ignore[untyped-decorator,unused-ignore]
    # arguments: those of the Python function, and numba's own
    def weigh_lanes(typing, block, bits, first, r, held, place, weight, values):  # type: ignore[no-untyped-def]
        """LLVM version of the function above."""
        _check(block, bits, held, place, weight, values)

        def code(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
            vectors = _Vectors(context, builder, signature.args, arguments)
            places, weights = (vectors.load(vectors.given[k]) for k in (5, 6))
            total = cgutils.alloca_once_value(builder, ir.Constant(vectors.word, 0))
            beyond = cgutils.alloca_once_value(builder, ir.Constant(vectors.vector, [-1] * LANES))

            def each(state, counts):  # type: ignore[no-untyped-def]
                occurs = builder.icmp_signed(">", counts, vectors.zeros)
                vectors.add(beyond, builder.zext(occurs, vectors.vector))
                for at in vectors.elements(builder.add(places, counts)):
                    # "atomic" prevents LLVM from using a gather instruction, which is slower
                    value = builder.load_atomic(builder.gep(vectors.given[7], [at]), "unordered", 8)
                    vectors.add(total, value)

            vectors.split(each)
            n = vectors.sum(builder.mul(builder.load(beyond), weights))
            return context.make_tuple(builder, signature.return_type, [builder.load(total), n])

        kind = types.UniTuple(types.int64, 2)
        return kind(block, bits, types.int64, types.int64, held, place, weight, values), code
