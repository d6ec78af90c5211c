# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""Counting records into tables: one pass over typed columns a clique, without the GIL.

A clique's cells are numbered in C order. Rows are taken in chunks that stay in cache: each column adds its codes times its
stride to a chunk of cell numbers, then the cells are incremented. A column's type matters in the first step alone, so
columns of any types mix freely. Many pairs of columns of few values are counted 64 rows at a time, by the bits that two
values share.
"""

from cpython.buffer cimport (
    PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_STRIDED_RO, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer,
)
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset
from libcpp.vector cimport vector

# Signed columns are read as unsigned ones: below zero is above every code that their type holds.
ctypedef fused code_t:
    uint8_t
    uint16_t
    uint32_t
    uint64_t

# Numbers of cells. In 32 bits twice as many fit a vector register, and larger tables (32 GiB) are not counted.
ctypedef uint32_t cell_t

cdef enum:
    CHUNK = 2048
    HALF = 12  # of a block of words of bits, whose counts fit the bytes of one

MAX_CELLS = 1 << 32

_SIGNED = ("b", "h", "i", "l", "q")  # formats of the buffer protocol
_UNSIGNED = ("B", "H", "I", "L", "Q")

cdef struct Column:
    const char* data
    Py_ssize_t step   # bytes from one code to the next; negative for a reversed view
    Py_ssize_t bytes  # of one code
    uint64_t size     # number of values
    uint64_t limit    # codes lie below it: the size, or fewer where the type holds fewer


cdef Column _column(codes, uint64_t size):
    """Borrow a column of integers, which its array keeps valid."""
    cdef Py_buffer view
    PyObject_GetBuffer(codes, &view, PyBUF_STRIDED_RO | PyBUF_FORMAT)
    kind = view.format.decode()
    n_axes = view.ndim
    cdef uint64_t limit = size
    if kind in _SIGNED:
        limit = min(size, <uint64_t>1 << (8 * view.itemsize - 1))
    cdef Column column = Column(<const char*>view.buf, view.strides[0], view.itemsize, size, limit)
    PyBuffer_Release(&view)
    if n_axes != 1 or kind not in _SIGNED + _UNSIGNED:
        raise TypeError(f"a column needs one axis of integers, got {codes.ndim} of {codes.dtype}")
    return column


cdef void* _numbers(array, kinds, int flags) except NULL:
    """Borrow contiguous numbers of eight bytes, which their array keeps valid."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | flags)
    cdef void* numbers = view.buf
    fits = view.ndim == 1 and view.itemsize == 8 and view.format.decode() in kinds
    PyBuffer_Release(&view)
    if not fits:
        raise TypeError(f"one axis of eight-byte numbers is needed, got {array.ndim} of {array.dtype}")
    return numbers


cdef bint _add_codes(const code_t* data, const Column& column, Py_ssize_t n, uint64_t stride,
                     cell_t* cells) noexcept nogil:
    """Add code * stride to n >= 1 cell numbers; tell whether a code lies outside its range."""
    cdef Py_ssize_t i
    cdef code_t code
    cdef code_t high = 0
    cdef cell_t factor = <cell_t>stride
    cdef const char* at = <const char*>data
    # A code out of range gives a cell number that nobody reads.
    if column.step == <Py_ssize_t>sizeof(code_t):
        for i in range(n):
            code = data[i]
            high = code if code > high else high
            cells[i] += <cell_t>code * factor
    else:
        for i in range(n):
            code = (<const code_t*>(at + i * column.step))[0]
            high = code if code > high else high
            cells[i] += <cell_t>code * factor
    return high >= column.limit


cdef bint _add_column(const Column& column, Py_ssize_t row, Py_ssize_t n, uint64_t stride,
                      cell_t* cells) noexcept nogil:
    cdef const char* data = column.data + row * column.step
    if column.bytes == 1:
        return _add_codes(<const uint8_t*>data, column, n, stride, cells)
    if column.bytes == 2:
        return _add_codes(<const uint16_t*>data, column, n, stride, cells)
    if column.bytes == 4:
        return _add_codes(<const uint32_t*>data, column, n, stride, cells)
    return _add_codes(<const uint64_t*>data, column, n, stride, cells)


cdef bint _count(const vector[Column]& clique, Py_ssize_t n_rows, int64_t* counts, const double* weights,
                 double* sums) noexcept nogil:
    """Add rows to counts or, where that is NULL, their weights to sums; tell whether all codes were in range."""
    cdef cell_t cells[CHUNK]
    cdef uint64_t stride
    cdef Py_ssize_t row = 0
    cdef Py_ssize_t n, i, axis
    cdef bint outside
    while row < n_rows:
        n = min(CHUNK, n_rows - row)
        memset(cells, 0, sizeof(cells))
        outside = False
        stride = 1
        for axis in range(<Py_ssize_t>clique.size() - 1, -1, -1):
            outside |= _add_column(clique[axis], row, n, stride, cells)
            stride *= clique[axis].size
        if outside:
            return False
        if counts != NULL:
            for i in range(n):
                counts[cells[i]] += 1
        else:
            for i in range(n):
                sums[cells[i]] += weights[row + i]
        row += n
    return True


cdef class Columns:
    """Columns of equal length, borrowed for counting.

    Parameters
    ----------
    columns : sequence of 1-D integer arrays
        Aligned and in native byte order, of any integer type and stride; all of length `n_rows`.
    sizes : sequence of int
        Number of values of each column.
    n_rows : int
    """

    cdef vector[Column] _columns  # none where there are no rows
    cdef object _owners
    cdef readonly tuple sizes
    cdef readonly Py_ssize_t n_rows

    def __cinit__(self, columns, sizes, Py_ssize_t n_rows):
        if len(columns) != len(sizes):
            raise ValueError(f"{len(columns)} columns need as many sizes, got {len(sizes)}")
        self._owners = tuple(columns)
        self.sizes = tuple(sizes)
        self.n_rows = n_rows
        for i, (codes, size) in enumerate(zip(self._owners, sizes)):
            if len(codes) != n_rows:
                raise ValueError(f"column {i} needs {n_rows} codes, got {len(codes)}")
            if n_rows > 0:
                self._columns.push_back(_column(codes, size))

    def first_outside(self, Py_ssize_t position):
        """Return the first row at which a column leaves its range, or -1."""
        cdef cell_t cells[CHUNK]
        cdef Py_ssize_t row = 0
        cdef Py_ssize_t n, i
        cdef bint outside = False
        self._check(position)
        if self.n_rows == 0:
            return -1
        cdef Column column = self._columns[position]
        memset(cells, 0, sizeof(cells))
        with nogil:
            while row < self.n_rows:
                n = min(CHUNK, self.n_rows - row)
                if _add_column(column, row, n, 0, cells):
                    outside = True
                    break
                row += n
        if not outside:
            return -1
        for i in range(row, row + n):
            if _add_column(column, i, 1, 0, cells):
                return i
        raise AssertionError("a column changed while it was read")

    def count(self, clique, table):
        """Add the number of rows of each cell to a clique's table; tell whether all codes were in range.

        Parameters
        ----------
        clique : sequence of int
            Positions of the clique's columns, in the order of the table's axes.
        table : ndarray of int64
            One entry a cell, in C order. Its content is undefined when a code is out of range.
        """
        cdef vector[Column] chosen = self._chosen(clique, len(table))
        cdef int64_t* counts = <int64_t*>_numbers(table, _SIGNED, PyBUF_WRITABLE)
        cdef bint inside
        with nogil:
            inside = _count(chosen, self.n_rows, counts, NULL, NULL)
        return inside

    def add_weights(self, clique, weights, table):
        """Add each row's weight, a float64, to its cell of a clique's table; the rest is as in `count`."""
        if len(weights) != self.n_rows:
            raise ValueError(f"{self.n_rows} rows need as many weights, got {len(weights)}")
        cdef vector[Column] chosen = self._chosen(clique, len(table))
        cdef const double* added = <const double*>_numbers(weights, ("d",), 0)
        cdef double* sums = <double*>_numbers(table, ("d",), PyBUF_WRITABLE)
        cdef bint inside
        with nogil:
            inside = _count(chosen, self.n_rows, NULL, added, sums)
        return inside

    cdef int _check(self, Py_ssize_t position) except -1:
        if not 0 <= position < len(self._owners):
            raise IndexError(f"column {position} of {len(self._owners)}")
        return 0

    cdef vector[Column] _chosen(self, clique, Py_ssize_t n_cells):
        """Return a clique's columns; refuse a table whose number of cells is not the product of their sizes."""
        cdef vector[Column] chosen
        cells = 1
        for position in clique:
            self._check(position)
            if self.n_rows > 0:
                chosen.push_back(self._columns[position])
                cells *= chosen.back().size
        if cells >= MAX_CELLS:
            raise ValueError(f"a table that is counted needs less than {MAX_CELLS} cells, got {cells}")
        if self.n_rows > 0 and cells != n_cells:
            raise ValueError(f"the table needs {cells} cells, got {n_cells}")
        return chosen


cdef Py_ssize_t _common(const uint64_t* a, const uint64_t* b, Py_ssize_t n_words) noexcept nogil:
    """Count the bits that both have, of whole blocks of words."""
    cdef uint64_t odd = 0x5555555555555555, pairs = 0x3333333333333333, nibbles = 0x0F0F0F0F0F0F0F0F
    cdef uint64_t shorts = 0x00FF00FF00FF00FF, ones = 0x0001000100010001
    cdef uint64_t x, y, sums
    cdef uint64_t found = 0
    cdef Py_ssize_t i
    cdef Py_ssize_t first = 0
    while first < n_words:
        sums = 0
        for i in range(first, first + HALF):
            x = a[i] & b[i]
            y = a[i + HALF] & b[i + HALF]
            x -= (x >> 1) & odd
            y -= (y >> 1) & odd
            x = (x & pairs) + ((x >> 2) & pairs) + (y & pairs) + ((y >> 2) & pairs)
            sums += (x & nibbles) + ((x >> 4) & nibbles)
        sums = (sums & shorts) + ((sums >> 8) & shorts)
        found += (sums * ones) >> 48
        first += 2 * HALF
    return <Py_ssize_t>found


cdef class Bits:
    """Rows of some columns as bits, a word 64 rows: for each value but the first, which rows have it.

    Parameters
    ----------
    columns : Columns
    chosen : sequence of int
        Positions of those whose pairs are counted.
    first, n_rows : int
        The rows.
    """

    cdef vector[uint64_t] _words
    cdef vector[Py_ssize_t] _sizes
    cdef vector[Py_ssize_t] _planes  # the first of each column; a value's is at its code less one
    cdef vector[Py_ssize_t] _counts  # of each plane
    cdef Py_ssize_t _n_words, _n_rows
    cdef readonly bint inside  # whether all codes were in range

    def __cinit__(self, Columns columns, chosen, Py_ssize_t first, Py_ssize_t n_rows):
        cdef Py_ssize_t position, plane
        if not 0 <= first < first + n_rows <= columns.n_rows:
            raise ValueError(f"rows {first} to {first + n_rows} are not among {columns.n_rows}")
        self._n_rows = n_rows
        self._n_words = (n_rows + 128 * HALF - 1) // (128 * HALF) * 2 * HALF
        self._sizes.resize(len(columns._owners), 0)
        self._planes.resize(len(columns._owners), 0)
        n_planes = 0
        for position in chosen:
            columns._check(position)
            self._sizes[position] = columns._columns[position].size
            self._planes[position] = n_planes
            n_planes += self._sizes[position] - 1
        self._words.resize(n_planes * self._n_words, 0)
        self._counts.resize(n_planes, 0)
        self.inside = True
        for position in chosen:
            self.inside &= self._pack(columns._columns[position], self._planes[position], first)
        for plane in range(n_planes):
            self._counts[plane] = _common(self._plane(plane), self._plane(plane), self._n_words)

    def count(self, pairs, starts, table):
        """Add the number of rows of each cell of pairs of columns to their tables.

        Parameters
        ----------
        pairs : ndarray of int64, shape (2 n,)
            Positions of columns among those chosen, in the order of a table's axes.
        starts : ndarray of int64, shape (n,)
            Where their tables begin.
        table : ndarray of int64
            All tables, each in C order.
        """
        cdef const int64_t* ends = <const int64_t*>_numbers(pairs, _SIGNED, 0)
        cdef const int64_t* begins = <const int64_t*>_numbers(starts, _SIGNED, 0)
        cdef int64_t* counts = <int64_t*>_numbers(table, _SIGNED, PyBUF_WRITABLE)
        cdef Py_ssize_t n_pairs = len(starts), n_cells = len(table), n_columns = self._sizes.size()
        cdef Py_ssize_t i, cells
        if len(pairs) != 2 * n_pairs:
            raise ValueError(f"{n_pairs} tables need as many pairs, got {len(pairs)} columns")
        for i in range(n_pairs):
            if not (0 <= ends[2 * i] < n_columns and 0 <= ends[2 * i + 1] < n_columns):
                raise IndexError(f"columns {ends[2 * i]} and {ends[2 * i + 1]} of {n_columns}")
            cells = self._sizes[ends[2 * i]] * self._sizes[ends[2 * i + 1]]
            if cells == 0 or not 0 <= begins[i] <= n_cells - cells:
                raise ValueError(f"no table of {cells} cells begins at {begins[i]} of {n_cells}")
        with nogil:
            for i in range(n_pairs):
                self._count_pair(ends[2 * i], ends[2 * i + 1], counts + begins[i])

    cdef const uint64_t* _plane(self, Py_ssize_t plane) noexcept nogil:
        return self._words.data() + plane * self._n_words

    cdef bint _pack(self, const Column& column, Py_ssize_t plane, Py_ssize_t first) noexcept nogil:
        """Set the bits of a column's values; tell whether all codes were in range."""
        cdef cell_t codes[CHUNK]
        cdef Py_ssize_t row, n, i, bit
        cdef cell_t value
        cdef uint64_t word
        cdef uint64_t* to
        row = 0
        while row < self._n_rows:
            n = min(CHUNK, self._n_rows - row)
            memset(codes, 0, sizeof(codes))
            if _add_column(column, first + row, n, 1, codes):
                return False
            for value in range(1, <cell_t>column.size):
                to = self._words.data() + (plane + value - 1) * self._n_words + row // 64
                for i in range((n + 63) // 64):
                    word = 0
                    for bit in range(64):
                        word |= <uint64_t>(codes[64 * i + bit] == value) << bit
                    to[i] = word
            row += n
        return True

    cdef void _count_pair(self, Py_ssize_t a, Py_ssize_t b, int64_t* table) noexcept nogil:
        """Count what two values share, but for the first ones: those have the rest."""
        cdef Py_ssize_t columns = self._sizes[b], of_a = self._planes[a] - 1, of_b = self._planes[b] - 1
        cdef Py_ssize_t first = self._n_rows, value, other, both, left
        for other in range(1, columns):
            table[other] += self._counts[of_b + other]
            first -= self._counts[of_b + other]
        for value in range(1, self._sizes[a]):
            left = self._counts[of_a + value]
            for other in range(1, columns):
                both = _common(self._plane(of_a + value), self._plane(of_b + other), self._n_words)
                table[value * columns + other] += both
                table[other] -= both
                left -= both
            table[value * columns] += left
            first -= left
        table[0] += first
