#pragma once
// Synthetic records: sampling, controlled rounding, refinement. May include every other folder but noise.
#include "core/records/controlled_rounding.hpp"       // unbiased controlled rounding of a table
#include "core/records/controlled_rounding_rows.hpp"  // rows of a rounded table get their counts
#include "core/records/record_refinement.hpp"         // records moved nearer to target counts
#include "core/records/sampling.hpp"                  // records drawn clique by clique
#include "core/records/sign_sums.hpp"                 // sums of products of signs over records
