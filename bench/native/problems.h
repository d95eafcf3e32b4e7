// The problems of internal/kernel and internal/qsort, and their sequential
// solutions in plain C++.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

struct Node {
  Node *left = nullptr, *right = nullptr;
  long value = 1;
};

// Tree is a complete tree of 2^depth-1 nodes with value 1. The nodes are in one array in
// the order of a walk that visits left before right.
class Tree {
 public:
  explicit Tree(int depth) : nodes_((size_t{1} << depth) - 1) { grow(depth); }
  const Node *root() const { return nodes_.data(); }
  long size() const { return static_cast<long>(nodes_.size()); }

 private:
  Node *grow(int depth) {
    Node *n = &nodes_[next_++];
    if (depth > 1) {
      n->left = grow(depth - 1);
      n->right = grow(depth - 1);
    }
    return n;
  }
  std::vector<Node> nodes_;
  size_t next_ = 0;
};

// Board is a node of the search for the places of n queens. It has two parts: the first
// free column of the next row, and the rest of the free columns.
struct Board {
  uint32_t free;         // columns of this row to try
  uint32_t open;         // columns without a queen
  uint32_t left, right;  // occupied diagonals, as columns of this row

  explicit Board(int n) : free((1u << n) - 1), open(free), left(0), right(0) {}

  Board first() const {
    Board next = *this;
    uint32_t q = free & -free;
    next.open = open & ~q;
    next.left = (left | q) << 1;
    next.right = (right | q) >> 1;
    next.free = next.open & ~(next.left | next.right);
    return next;
  }
  Board rest() const {
    Board next = *this;
    next.free &= next.free - 1;
    return next;
  }
  // solutions returns the number of solutions of a node without a free column.
  long solutions() const { return open == 0; }
};

// forks returns how many nodes with a free column the search visits.
inline long forks(Board b) { return b.free == 0 ? 0 : 1 + forks(b.first()) + forks(b.rest()); }

constexpr ptrdiff_t cutoff = 32;  // the largest part that insertion sorts

// shuffled returns 0, 1, 2, ... in the order of the benchmark.
inline std::vector<int32_t> shuffled(size_t n) {
  std::vector<int32_t> a(n);
  for (size_t i = 0; i < n; i++) a[i] = static_cast<int32_t>(i);
  uint32_t x = 0xdeadbeef;
  for (size_t i = 0; i < n; i++) {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    std::swap(a[i], a[x % static_cast<uint32_t>(i + 1)]);
  }
  return a;
}

// partition moves the elements that are not greater than the last element to the front,
// and the last element behind them. It returns the position of that element, where the
// two halves meet.
inline int32_t *partition(int32_t *begin, int32_t *end) {
  int32_t *last = end - 1, *mid = begin;
  int32_t pivot = *last;
  for (int32_t *p = begin; p < last; p++) {
    if (*p <= pivot) std::swap(*p, *mid++);
  }
  std::swap(*last, *mid);
  return mid;
}

inline void insertion(int32_t *begin, int32_t *end) {
  for (int32_t *p = begin + 1; p < end; p++) {
    for (int32_t *q = p; q > begin && *q < *(q - 1); q--) std::swap(*q, *(q - 1));
  }
}

namespace plain {

inline long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

inline long sum(const Node *n) { return n == nullptr ? 0 : n->value + sum(n->left) + sum(n->right); }

inline long queens(Board b) { return b.free == 0 ? b.solutions() : queens(b.first()) + queens(b.rest()); }

inline void sort(int32_t *begin, int32_t *end) {
  if (end - begin <= cutoff) return insertion(begin, end);
  int32_t *mid = partition(begin, end);
  sort(begin, mid);
  sort(mid, end);
}

}  // namespace plain
