// Followers are found from the targets alone; what a leader moves is whoever follows it, or a follower of it.
#include "core/records/joint_moves.hpp"

#include <algorithm>
#include <numeric>

namespace pypgm {

namespace {

constexpr std::size_t kMostFollowers = 4;  // of a move: columns that all follow each other cost no more
constexpr double kDetermined = 0.2;        // part of an attribute's own uncertainty that others may leave

struct Modes {
  std::vector<std::int32_t> value;
  double missed;  ///< sum of the target outside the most frequent values
};

/// The most frequent value of an axis of `size` values, `inner` cells apart, for each cell of the others.
Modes modes(std::span<const double> table, std::size_t size, std::size_t inner) {
  Modes found{{}, std::accumulate(table.begin(), table.end(), 0.0)};
  for (std::size_t outer = 0; outer < table.size(); outer += size * inner) {
    for (std::size_t i = 0; i < inner; ++i) {
      const double* const first = table.data() + outer + i;
      std::size_t best = 0;
      for (std::size_t v = 1; v < size; ++v) {
        if (first[v * inner] > first[best * inner]) best = v;
      }
      found.value.push_back(static_cast<std::int32_t>(best));
      found.missed -= first[best * inner];
    }
  }
  return found;
}

double missed_alone(std::span<const double> table, std::size_t size, std::size_t inner) {
  std::vector<double> sums(size);
  for (std::size_t cell = 0; cell < table.size(); ++cell) sums[cell / inner % size] += table[cell];
  return std::accumulate(sums.begin(), sums.end(), 0.0) - *std::max_element(sums.begin(), sums.end());
}

/// Steps of the axes of a target in C order, without one of them.
std::vector<CodeStep> steps(std::span<const std::size_t> sizes, const RecordTarget& target,
                            std::size_t without) {
  std::vector<CodeStep> found;
  std::size_t cells = 1;
  for (std::size_t k = target.attributes.size(); k-- > 0;) {
    if (k == without) continue;
    found.push_back({target.attributes[k], cells});
    cells *= sizes[target.attributes[k]];
  }
  return found;
}

}  // namespace

JointMoves::JointMoves(std::span<const std::size_t> sizes, std::span<const RecordTarget> targets) {
  // Of each attribute the smallest target that determines it.
  std::vector<std::size_t> cells(sizes.size(), static_cast<std::size_t>(-1));
  std::vector<Follower> found(sizes.size());
  for (const RecordTarget& target : targets) {
    std::size_t inner = 1;
    for (std::size_t k = target.attributes.size(); k-- > 0;) {
      const std::size_t a = target.attributes[k];
      if (target.attributes.size() > 1 && sizes[a] > 1 && target.values.size() < cells[a]) {
        Modes most = modes(target.values, sizes[a], inner);
        const double alone = missed_alone(target.values, sizes[a], inner);
        if (alone > 0 && most.missed <= kDetermined * alone) {
          found[a] = {a, steps(sizes, target, k), std::move(most.value)};
          cells[a] = target.values.size();
        }
      }
      inner *= sizes[a];
    }
  }
  for (Follower& follower : found) {
    if (!follower.value.empty()) followers_.push_back(std::move(follower));
  }
  for (std::size_t leader = 0; leader < sizes.size(); ++leader) {
    JointMove move{leader, {}, {}};
    std::vector<std::size_t> member(sizes.size(), sizes.size());
    member[leader] = 0;
    const auto is_member = [&](const CodeStep& s) { return member[s.attribute] < sizes.size(); };
    for (bool grows = true; grows;) {
      grows = false;
      for (const Follower& follower : followers_) {
        if (move.followers.size() == kMostFollowers || member[follower.attribute] < sizes.size() ||
            std::none_of(follower.given.begin(), follower.given.end(), is_member)) {
          continue;
        }
        move.followers.push_back(&follower);
        member[follower.attribute] = move.followers.size();
        grows = true;
      }
    }
    if (move.followers.empty()) continue;
    std::size_t offset = 0;
    for (const RecordTarget& target : targets) {
      TouchedTarget touched{offset, {}, {}};
      // The first copy orders the first axis last.
      for (CodeStep s : steps(sizes, target, target.attributes.size())) {
        s.step = s.attribute == target.attributes[0] ? 1 : s.step * sizes[target.attributes[0]];
        (is_member(s) ? touched.moving : touched.fixed).push_back(s);
      }
      for (CodeStep& s : touched.moving) s.attribute = member[s.attribute];
      if (!touched.moving.empty()) move.touched.push_back(std::move(touched));
      offset += target.values.size();
    }
    moves_.push_back(std::move(move));
  }
}

}  // namespace pypgm
