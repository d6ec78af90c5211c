#pragma once
// Losses and the compiled steps of estimators on a junction tree.
// May include base, tables, simd, plan, exact and queries.
#include "core/fit/acceleration.hpp"          // accelerated mirror descent on a tree
#include "core/fit/cholesky.hpp"              // products and Cholesky factors of dense matrices
#include "core/fit/descent.hpp"               // mirror descent with a line search
#include "core/fit/fitted_potentials.hpp"     // potentials whose marginals are nearest to given ones
#include "core/fit/l2_loss.hpp"               // the weighted L2 loss and its gradient
#include "core/fit/l2_path.hpp"               // the path of accelerated descent for it
#include "core/fit/linear_map.hpp"            // what a measurement asks of the cells of a table
#include "core/fit/moment_matching.hpp"       // potentials that reproduce given marginals
#include "core/fit/proportional_fitting.hpp"  // iterative proportional fitting
#include "core/fit/reparameterise.hpp"        // the same distribution from smaller potentials
