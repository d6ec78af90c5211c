#pragma once

namespace pypgm {

/// How a run of exact inference ended: with numbers that can be trusted, without any weight, or with losses
/// by underflow that matter. A run of the factored tree whose tables have cell exponents is never lost.
enum class Outcome { exact, impossible, lost };

}  // namespace pypgm
