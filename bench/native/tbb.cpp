// oneTBB.
#include "harness.h"

#include <tbb/global_control.h>
#include <tbb/parallel_invoke.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>

namespace {

// parallel_invoke runs its last argument directly and forks the other one.

long fib(int n) {
  if (n < 2) return n;
  long x, y;
  tbb::parallel_invoke([&] { y = fib(n - 2); }, [&] { x = fib(n - 1); });
  return x + y;
}

long sum(const Node *n) {
  if (n->left == nullptr) return n->value;  // the tree is complete, so right is null too
  long x, y;
  tbb::parallel_invoke([&] { y = sum(n->right); }, [&] { x = sum(n->left); });
  return n->value + x + y;
}

long queens(Board b) {
  if (b.free == 0) return b.solutions();
  long x, y;
  tbb::parallel_invoke([&] { y = queens(b.rest()); }, [&] { x = queens(b.first()); });
  return x + y;
}

void sort(int32_t *begin, int32_t *end) {
  if (end - begin <= cutoff) return insertion(begin, end);
  int32_t *mid = partition(begin, end);
  tbb::parallel_invoke([&] { sort(mid, end); }, [&] { sort(begin, mid); });
}

// The caller of a root is one of the workers.
const System oneTBB{fib, sum, queens, sort};

// threads limits the number of threads to n, the calling thread included.
tbb::global_control threads(int n) { return {tbb::global_control::max_allowed_parallelism, size_t(n)}; }

// external schedules empty tasks from a thread that runs no task.
void external(Suite &s, long tasks) {
  if (!s.wants("sched/external-1")) return;
  auto limit = threads(s.workers + 1);
  tbb::task_arena arena(s.workers, 0);
  static Count left;
  auto run = [&](const System &) {
    for (long i = 0; i < tasks; i++) arena.enqueue([] { left.done(); });
    left.wait();
  };
  auto prepare = [&] { left.expect(tasks); };
  auto correct = [] { return true; };  // left checks the number of tasks
  s.measure({"sched/external-1", tasks, note("", tasks, " tasks", full.flood), run, correct, prepare}, oneTBB, nullptr);
}

// localTree runs a tree of tasks, each of which schedules two others. The caller is a worker.
void localTree(Suite &s, long nodes) {
  if (!s.wants("sched/local-tree")) return;
  auto limit = threads(s.workers);
  std::vector<uint8_t> ran(nodes);
  tbb::task_group g;
  std::function<void(long)> node = [&](long i) {
    ran[i]++;
    if (long left = 2 * i + 1; left < nodes) {
      g.run([&node, left] { node(left); });
      g.run([&node, left] { node(left + 1); });
    }
  };
  auto run = [&](const System &) {
    g.run([&] { node(0); });
    g.wait();
  };
  auto correct = [&] { return std::count(ran.begin(), ran.end(), 1) == nodes; };
  auto prepare = [&] { std::fill(ran.begin(), ran.end(), 0); };
  s.measure({"sched/local-tree", nodes, note("", nodes, " tasks", full.nodes), run, correct, prepare}, oneTBB, nullptr);
}

// wake measures the time from the call to the first instruction of the task.
void wake(Suite &s, int trips) {
  if (!s.wants("sched/wake")) return;
  auto limit = threads(s.workers + 1);
  tbb::task_arena arena(s.workers, 0);
  static Count left;
  s.latencies("sched/wake", trips, [&] {
    int64_t started;
    left.expect(1);
    int64_t called = now();
    arena.enqueue([&started] {
      started = now();
      left.done();
    });
    left.wait();
    return started - called;
  });
}

}  // namespace

int main(int argc, char **argv) {
  Suite s("tbb", argc, argv);
  Sizes z = s.sizes(full);
  {
    auto limit = threads(s.workers);
    forkJoin(s, z, oneTBB, &sequential);
    idleCPU(s, z, oneTBB);
  }
  external(s, z.flood);
  localTree(s, z.nodes);
  wake(s, z.trips);
  return s.end();
}
