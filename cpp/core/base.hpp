#pragma once
// What every other folder uses: attribute scopes, threads, shared arrays, a generator for post-processing.
// Includes no other folder.
#include "core/base/grain.hpp"           // how much work pays for a thread
#include "core/base/numbers.hpp"         // infinity, and any integer as an index
#include "core/base/scope.hpp"           // the attributes of a table
#include "core/base/shared_numbers.hpp"  // read-only arrays with shared ownership
#include "core/base/threads.hpp"         // parallel_for: the one place with OpenMP
#include "core/base/watch.hpp"           // how a long call is ended early
#include "core/base/xoshiro.hpp"         // xoshiro256++, never for release noise
