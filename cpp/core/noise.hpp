#pragma once
// Exact discrete noise and selection on integers, from a cryptographic stream. May include base alone.
#include "core/noise/enumeration.hpp"      // the samplers on scripted randomness, for tests
#include "core/noise/exact_bernoulli.hpp"  // coins of rational and exponential probability
#include "core/noise/noise.hpp"            // discrete Laplace and discrete Gaussian noise
#include "core/noise/random_bits.hpp"      // ChaCha20 keyed by the operating system
#include "core/noise/selection.hpp"        // exponential mechanism, permute-and-flip
#include "core/noise/wide_integer.hpp"     // unsigned integers of 320 bits
