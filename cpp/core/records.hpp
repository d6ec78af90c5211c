#pragma once
// Synthetic records: sampling, controlled rounding, refinement. May include every other folder but noise.
#include "core/records/controlled_rounding.hpp"       // unbiased controlled rounding of a table
#include "core/records/controlled_rounding_rows.hpp"  // rows of a rounded table get their counts
#include "core/records/count_sampling.hpp"            // counts of a table that records are drawn from
#include "core/records/excess_tables.hpp"             // counts of records less their targets
#include "core/records/joint_moves.hpp"               // values that records change together
#include "core/records/raking.hpp"                    // weights of cells brought to given sums
#include "core/records/record_block.hpp"              // a part of a table that is refined at a time
#include "core/records/record_mover.hpp"              // records of a block moved one after the other
#include "core/records/record_refinement.hpp"         // records moved nearer to target counts
#include "core/records/sampling.hpp"                  // records drawn clique by clique
#include "core/records/sign_sums.hpp"                 // sums of products of signs over records
