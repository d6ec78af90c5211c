#pragma once
// Names a set of kernels that is compiled once for each instruction set (PYPGM_ISA is its name): set `name`
// is `name_avx2` there, and `name()` returns the one for this machine (dispatch.cpp).

#define PYPGM_JOIN_(a, b) a##_##b
#define PYPGM_JOIN(a, b) PYPGM_JOIN_(a, b)

/// PYPGM_KERNEL_SET(Set, name) = {...}; defines the set for this instruction set.
#define PYPGM_KERNEL_SET(Set, name)             \
  extern const Set PYPGM_JOIN(name, PYPGM_ISA); \
  const Set PYPGM_JOIN(name, PYPGM_ISA)

/// Before a loop over cells none of which depends on another one: it may be in place.
#if defined(__GNUC__) && !defined(__clang__)
#define PYPGM_CELL_BY_CELL _Pragma("GCC ivdep")
#else
#define PYPGM_CELL_BY_CELL
#endif
