// OpenMP tasks, with the runtime of gcc.
#include "harness.h"

#include <omp.h>

namespace {

long fib(int n) {
  if (n < 2) return n;
  long y;
#pragma omp task shared(y)
  y = fib(n - 2);
  long x = fib(n - 1);
#pragma omp taskwait
  return x + y;
}

long sum(const Node *n) {
  if (n->left == nullptr) return n->value;  // the tree is complete, so right is null too
  long y;
#pragma omp task shared(y)
  y = sum(n->right);
  long x = sum(n->left);
#pragma omp taskwait
  return n->value + x + y;
}

long queens(Board b) {
  if (b.free == 0) return b.solutions();
  long y;
#pragma omp task shared(y)
  y = queens(b.rest());
  long x = queens(b.first());
#pragma omp taskwait
  return x + y;
}

void sort(int32_t *begin, int32_t *end) {
  if (end - begin <= cutoff) return insertion(begin, end);
  int32_t *mid = partition(begin, end);
#pragma omp task
  sort(mid, end);
  sort(begin, mid);
#pragma omp taskwait
}

// region runs f on one thread. All threads run the tasks of f.
template <class F>
void region(F f) {
#pragma omp parallel
#pragma omp single
  f();
}

const System openmp{
    [](int n) {
      long r;
      region([&] { r = fib(n); });
      return r;
    },
    [](const Node *n) {
      long r;
      region([&] { r = sum(n); });
      return r;
    },
    [](Board b) {
      long r;
      region([&] { r = queens(b); });
      return r;
    },
    [](int32_t *begin, int32_t *end) { region([&] { sort(begin, end); }); },
};

}  // namespace

int main(int argc, char **argv) {
  Suite s("openmp", argc, argv);
  omp_set_num_threads(s.workers);
  forkJoin(s, s.sizes(slow), openmp, &sequential);
  idleCPU(s, s.sizes(slow), openmp);
  return s.end();
}
