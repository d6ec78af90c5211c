#pragma once
// The one place where arrays cross between Python and the core: no silent copies, no silent casts.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/scope.hpp"

namespace pypgm::bind {

namespace py = pybind11;

/// A C-contiguous array of exactly this type; take it with `.noconvert()`.
template <class T>
using Array = py::array_t<T, py::array::c_style>;

/// Borrows the entries of an array for the length of the call.
template <class T>
std::span<const T> view(const Array<T>& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

/// Borrows the entries of an array the kernel writes to; refuses a read-only one.
template <class T>
std::span<T> mutable_view(Array<T>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

/// A fresh one-dimensional output.
template <class T>
Array<T> allocate(std::size_t size) {
  return Array<T>(static_cast<py::ssize_t>(size));
}

/// Copies for the core to keep, and back.
template <class T>
std::vector<T> copied(const Array<T>& array) {
  return {array.data(), array.data() + array.size()};
}

inline Array<double> array_of(std::span<const double> values) {
  return Array<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

/// Raises ValueError unless an array has the length it must have.
inline void check_size(const char* name, std::size_t needed, std::size_t came) {
  if (needed != came) {
    throw py::value_error(std::string(name) + " must hold " + std::to_string(needed) + " entries, got " +
                          std::to_string(came));
  }
}

/// Raises ValueError unless scopes, named `what`, are ascending attribute indices.
inline void check_scopes(const char* what, std::size_t n_attributes, const std::vector<Scope>& scopes) {
  for (const Scope& scope : scopes) {
    for (std::size_t i = 0; i < scope.size(); ++i) {
      const bool ascending = i == 0 || scope[i - 1] < scope[i];
      if (!ascending || scope[i] < 0 || static_cast<std::size_t>(scope[i]) >= n_attributes) {
        throw py::value_error(std::string(what) + " must be ascending attribute indices below " +
                              std::to_string(n_attributes));
      }
    }
  }
}

/// Raises ValueError for an attribute without values.
inline void check_sizes(const std::vector<std::size_t>& sizes) {
  for (const std::size_t size : sizes) {
    if (size == 0) throw py::value_error("every attribute needs at least one value, got a size of 0");
  }
}

/// Raises ValueError for a negative thread count.
inline void check_threads(int n_threads) {
  if (n_threads < 0) {
    throw py::value_error("n_threads must be 0 (all) or positive, got " + std::to_string(n_threads));
  }
}

}  // namespace pypgm::bind
