// Errors of unsuitable arguments, without the arguments.
#include "unsuitable.hpp"

#include <string>

namespace pypgm::bind {

namespace {

namespace py = pybind11;

using Call = PyObject* (*)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*);

Call dispatch = nullptr;  // pybind11's, which all functions share

/// Calls what is bound; a TypeError of pybind11's ends before the arguments, and has no cause that could hold
/// one.
PyObject* call_bound(PyObject* self, PyObject* const* args, Py_ssize_t n_args, PyObject* names) {
  PyObject* result = dispatch(self, args, n_args, names);
  if (result != nullptr || PyErr_ExceptionMatches(PyExc_TypeError) == 0) return result;
  py::error_already_set raised;
  const std::string text = py::str(raised.value());
  const std::size_t end = text.find("\nInvoked with: ");
  if (end == std::string::npos) {
    raised.restore();
  } else {
    PyErr_SetString(PyExc_TypeError, text.substr(0, end).c_str());
  }
  return nullptr;
}

void hide_in(py::handle entry) {
  PyObject* object = entry.ptr();
  if (PyInstanceMethod_Check(object)) return hide_in(PyInstanceMethod_GET_FUNCTION(object));
  if (PyObject_TypeCheck(object, &PyStaticMethod_Type) != 0) return hide_in(entry.attr("__func__"));
  if (PyObject_TypeCheck(object, &PyProperty_Type) != 0) {
    hide_in(entry.attr("fget"));
    return hide_in(entry.attr("fset"));
  }
  if (PyCFunction_Check(object) == 0) return;
  PyMethodDef* bound = reinterpret_cast<PyCFunctionObject*>(object)->m_ml;
  if (bound->ml_flags != (METH_FASTCALL | METH_KEYWORDS)) return;
  const auto own = reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_bound));
  if (bound->ml_meth == own) return;
  dispatch = reinterpret_cast<Call>(reinterpret_cast<void (*)()>(bound->ml_meth));
  bound->ml_meth = own;
}

PyObject* refuse_state(PyObject* self, PyObject*) {
  return PyErr_Format(PyExc_TypeError, "cannot pickle '%s' object", Py_TYPE(self)->tp_name);
}

PyMethodDef reduce = {"__reduce__", refuse_state, METH_VARARGS, "__reduce__(self) -> typing.NoReturn"};

}  // namespace

void hide_arguments(py::module_& m) {
  for (const auto& [name, entry] : py::dict(m.attr("__dict__"))) {
    if (PyType_Check(entry.ptr()) == 0) {
      hide_in(entry);
      continue;
    }
    for (const py::handle member : py::list(entry.attr("__dict__").attr("values")())) hide_in(member);
  }
}

void refuse_pickles(py::module_& m) {
  for (const auto& [name, entry] : py::dict(m.attr("__dict__"))) {
    if (PyType_Check(entry.ptr()) == 0 || PyExceptionClass_Check(entry.ptr()) != 0) continue;
    auto* type = reinterpret_cast<PyTypeObject*>(entry.ptr());
    entry.attr("__reduce__") = py::reinterpret_steal<py::object>(PyDescr_NewMethod(type, &reduce));
  }
}

}  // namespace pypgm::bind
