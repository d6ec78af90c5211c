#pragma once
// How tables lie inside each other: layouts, blocks that fit the cache, the loops of a product.
// May include base.
#include "core/tables/blocks.hpp"   // a table cut into blocks that fit the cache
#include "core/tables/layout.hpp"   // a small table inside a large one
#include "core/tables/loops.hpp"    // the loops of out = sum a * b
#include "core/tables/strides.hpp"  // the cells of a table in another order
