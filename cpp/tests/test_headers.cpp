// Every header of the core in one translation unit: a name defined twice, or a header that lacks an include
// of its own, does not compile.
#include "core/base.hpp"
#include "core/exact.hpp"
#include "core/fit.hpp"
#include "core/mrf.hpp"
#include "core/noise.hpp"
#include "core/plan.hpp"
#include "core/queries.hpp"
#include "core/records.hpp"
#include "core/regions.hpp"
#include "core/simd.hpp"
#include "core/tables.hpp"
