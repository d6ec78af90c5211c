# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, embedsignature=True
"""Counting records into tables: one pass over typed columns a clique, without the GIL.

A clique's cells are numbered in C order. Rows are taken in chunks that stay in cache: each column adds its codes times its
stride to a chunk of cell numbers, then the cells are incremented. A column's type matters in the first step alone, so
columns of any types mix freely.
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
    cdef readonly Py_ssize_t n_rows

    def __cinit__(self, columns, sizes, Py_ssize_t n_rows):
        if len(columns) != len(sizes):
            raise ValueError(f"{len(columns)} columns need as many sizes, got {len(sizes)}")
        self._owners = tuple(columns)
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
