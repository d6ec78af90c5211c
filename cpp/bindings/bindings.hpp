#pragma once
// The one place where arrays cross between Python and the core: no silent copies, no silent casts.
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/base/scope.hpp"
#include "core/base/threads.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {
struct GibbsPlan;
struct JunctionTree;
struct LinearMap;
struct ProjectionPlan;
struct RegionGraph;
}  // namespace pypgm

namespace pypgm::bind {

namespace py = pybind11;

template <class T>
class Exclusive;
struct CalibratedTree;
struct SharedWords;

/// Whether Python has objects of a type.
template <class T>
inline constexpr bool is_bound = false;
template <class T>
inline constexpr bool is_bound<Exclusive<T>> = true;
template <>
inline constexpr bool is_bound<CalibratedTree> = true;
template <>
inline constexpr bool is_bound<SharedWords> = true;
template <>
inline constexpr bool is_bound<GibbsPlan> = true;
template <>
inline constexpr bool is_bound<JunctionTree> = true;
template <>
inline constexpr bool is_bound<LinearMap> = true;
template <>
inline constexpr bool is_bound<ProjectionPlan> = true;
template <>
inline constexpr bool is_bound<RegionGraph> = true;

/// An aligned, C-contiguous array of exactly this type. Any other argument, a list, say, or an array of other
/// numbers, is a TypeError wherever it stands, in lists and tuples too: nothing is copied unseen.
template <class T>
class Array : public py::array_t<T, py::array::c_style> {
 public:
  using Base = py::array_t<T, py::array::c_style>;
  using Base::Base;
  static bool check_(py::handle object) {
    return Base::check_(object) &&
           (py::reinterpret_borrow<py::array>(object).flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
  }
};

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

/// A fresh one-dimensional output. Raises MemoryError where no memory could hold it.
template <class T>
Array<T> allocate(std::size_t size) {
  if (size >= kTooManyCells) throw std::bad_alloc();
  return Array<T>(static_cast<py::ssize_t>(size));
}

/// Copies for the core to keep, and back: without the GIL, because they may be large.
template <class T>
std::vector<T> copied(const Array<T>& array) {
  const auto from = view(array);
  const py::gil_scoped_release unlocked;
  return {from.begin(), from.end()};
}

template <class T>
Array<T> array_of(std::span<const T> values) {
  Array<T> array = allocate<T>(values.size());
  const auto out = mutable_view(array);
  const py::gil_scoped_release unlocked;
  std::copy(values.begin(), values.end(), out.begin());
  return array;
}

template <class T>
Array<T> array_of(const std::vector<T>& values) {
  return array_of(std::span<const T>(values));
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

/// A number of threads, all the calling thread may have for 0. Raises ValueError for a negative one.
inline int checked_threads(int n_threads) {
  if (n_threads < 0) {
    throw py::value_error("n_threads must be 0 (all) or positive, got " + std::to_string(n_threads));
  }
  return n_threads > 0 ? n_threads : max_threads();
}

}  // namespace pypgm::bind

namespace pybind11::detail {
template <class T>
struct handle_type_name<pypgm::bind::Array<T>> {
  static constexpr auto name =
      const_name("numpy.typing.NDArray[") + npy_format_descriptor<T>::name + const_name("]");
};

/// The caster of a class whose instances may be unmade: `__new__` without `__init__` leaves no object, for
/// which pybind11 would take raw memory. None is made here, and the argument is a TypeError.
template <class T>
struct made_caster : type_caster_base<T> {
  bool load(handle source, bool convert) { return this->template load_impl<made_caster>(source, convert); }
  void load_value(value_and_holder&& own) { this->value = own.value_ptr(); }
};

template <class T>
requires pypgm::bind::is_bound<T>
class type_caster<T, void> : public made_caster<T> {
};
}  // namespace pybind11::detail
