// The common part of the C++ programs: the command line, the clock, the runs and the rows.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <set>
#include <string>
#include <thread>
#include <time.h>
#include <vector>

#include "problems.h"

[[noreturn]] inline void fail(const std::string &why, int code = 1) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::_Exit(code);  // without destructors, because other threads may run
}

inline int64_t now() {
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// cpu returns the processor time of the process in nanoseconds.
inline int64_t cpu() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec * int64_t{1000000000} + t.tv_nsec;
}

inline double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  size_t mid = v.size() / 2;
  return v.size() % 2 ? v[mid] : (v[mid - 1] + v[mid]) / 2;
}

struct Sizes {
  int fib;
  long fibValue;
  int tree, entries;  // the depth of the large tree; the number of sums of the small tree
  int queens;
  long solutions;
  long sort, flood, nodes;
  int trips;
  int burst, idleMs;
};

// A system whose forks cost hundreds of nanoseconds gets smaller problems. Its figures
// are those of one fork too.
constexpr Sizes full{35, 9227465, 23, 2000, 13, 73712, 10'000'000, 1'000'000, (1 << 20) - 1, 1000, 25, 5000};
constexpr Sizes slow{27, 196418, 18, 200, 10, 724, 10'000'000, 1'000'000, (1 << 20) - 1, 1000, 20, 5000};
constexpr Sizes quick{20, 6765, 12, 50, 8, 92, 100'000, 5000, (1 << 10) - 1, 40, 15, 20};

// System is the solutions of the problems on one system. External threads call them.
struct System {
  std::function<long(int)> fib;
  std::function<long(const Node *)> sum;
  std::function<long(Board)> queens;
  std::function<void(int32_t *, int32_t *)> sort;
};

inline const System sequential{plain::fib, plain::sum, plain::queens, plain::sort};

// Suite is a program: its command line and its measurements.
//
//   PROGRAM [-workers N] [-runs N] [-quick] [NAME ...]
class Suite {
 public:
  int workers = 1;

  Suite(const char *impl, int argc, char **argv) : impl_(impl) {
    for (int i = 1; i < argc; i++) {
      std::string arg = argv[i];
      if (arg == "-quick") {
        quick_ = true;
      } else if ((arg == "-workers" || arg == "-runs") && i + 1 < argc) {
        int n = std::atoi(argv[++i]);
        if (n < 1 || n > 10'000) fail(arg + " " + argv[i] + ": want a number between 1 and 10000", 2);
        (arg == "-runs" ? runs_ : workers) = n;
      } else if (arg[0] == '-') {
        fail(arg + ": the flags are -workers N, -runs N and -quick", 2);
      } else {
        names_.insert(arg);
      }
    }
  }

  Sizes sizes(Sizes z) const { return quick_ ? quick : z; }

  // wants reports whether the command line names a benchmark, or has no names.
  bool wants(const std::string &name) {
    known_.insert(name);
    return names_.empty() || names_.count(name);
  }

  // end refuses names that the program does not have, and returns the exit code.
  int end() const {
    for (const auto &name : names_) {
      if (!known_.count(name)) fail(name + ": " + impl_ + " has no such benchmark", 2);
    }
    return 0;
  }

  // Work is the work of a benchmark. Only run is measured.
  struct Work {
    const char *name;
    long ops;
    std::string note;  // the size, when it differs from that of BENCHMARKS.md
    std::function<void(const System &)> run;
    std::function<bool()> correct;  // whether the result of the last run is correct
    std::function<void()> prepare = [] {};
  };

  // measure runs w on system and on reference in turn: once to warm up, and then runs_
  // times. reference may be null.
  void measure(const Work &w, const System &system, const System *reference) {
    std::vector<double> values, cpus, ratios;
    for (int run = 0; run <= runs_; run++) {
      Cost cost, base;
      if (reference != nullptr && run % 2) base = once(w, *reference);
      cost = once(w, system);
      if (reference != nullptr && run % 2 == 0) base = once(w, *reference);
      if (run == 0) continue;
      values.push_back(cost.time);
      cpus.push_back(cost.cpu);
      if (reference != nullptr) ratios.push_back(cost.time / base.time);
    }
    row(w.name, "ns/op", values, cpus, ratios, {}, w.note);
  }

  // latencies measures trips. Each trip follows a pause and returns its time, from which
  // the cost of reading the clock is subtracted.
  void latencies(const char *name, int trips, const std::function<int64_t()> &trip) {
    std::vector<double> p50s, p99s, cpus;
    for (int run = 0; run <= runs_; run++) {
      std::vector<double> ns;
      int64_t cpuBegan = cpu();
      for (int i = 0; i < trips; i++) {
        std::this_thread::sleep_for(std::chrono::microseconds(300));
        ns.push_back(std::max(0.0, double(trip()) - clockCost()));
      }
      double c = double(cpu() - cpuBegan) / trips;
      std::sort(ns.begin(), ns.end());
      if (run == 0) continue;
      p50s.push_back(ns[(trips * 50 + 99) / 100 - 1]);
      p99s.push_back(ns[(trips * 99 + 99) / 100 - 1]);
      cpus.push_back(c);
    }
    row(name, "ns/op", p50s, cpus, {}, p99s, {});
  }

  // idle measures the processor time of the process after a burst.
  void idle(const char *name, int ms, const std::function<void()> &burst) {
    std::vector<double> used;
    for (int run = 0; run <= runs_; run++) {
      burst();
      int64_t began = cpu();
      std::this_thread::sleep_for(std::chrono::milliseconds(ms));
      if (run > 0) used.push_back(double(cpu() - began) / 1e6);
    }
    row(name, "ms CPU", used, {}, {}, {}, {});
  }

 private:
  struct Cost {
    double time = 0, cpu = 0;  // nanoseconds an operation
  };

  Cost once(const Work &w, const System &on) const {
    w.prepare();
    int64_t cpuBegan = cpu(), began = now();
    w.run(on);
    Cost c{double(now() - began) / w.ops, double(cpu() - cpuBegan) / w.ops};
    if (!w.correct()) fail(impl_ + ": " + w.name + (&on == &sequential ? ", sequential" : "") + ": wrong result");
    return c;
  }

  static double clockCost() {
    static const double cost = [] {
      std::vector<double> d;
      for (int i = 0; i < 1001; i++) {
        int64_t t = now();
        d.push_back(double(now() - t));
      }
      return median(d);
    }();
    return cost;
  }

  // number returns value with four significant digits, or with all digits before the
  // point.
  static std::string number(double value) {
    int digits = 3 - int(std::floor(std::log10(std::max(std::abs(value), 1e-9))));
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", std::max(digits, 0), value);
    return text;
  }

  void row(const std::string &name, const std::string &unit, const std::vector<double> &values,
           const std::vector<double> &cpus, const std::vector<double> &ratios, const std::vector<double> &p99s,
           const std::string &note) const {
    auto [min, max] = std::minmax_element(values.begin(), values.end());
    std::string line = "{\"bench\":\"" + name + "\",\"impl\":\"" + impl_ +
                       "\",\"workers\":" + std::to_string(workers) + ",\"value\":" + number(median(values)) +
                       ",\"unit\":\"" + unit + "\",\"better\":\"less\",\"min\":" + number(*min) +
                       ",\"max\":" + number(*max) + ",\"runs\":" + std::to_string(runs_) + ",\"ratios\":{";
    if (!ratios.empty()) line += "\"sequential\":" + number(median(ratios));
    line += "}";
    if (!cpus.empty()) line += ",\"cpu_ns_per_op\":" + number(median(cpus));
    if (!p99s.empty()) line += ",\"p99\":" + number(median(p99s));
    if (!note.empty()) line += ",\"note\":\"" + note + "\"";
    std::puts((line + "}").c_str());
    std::fflush(stdout);
  }

  std::string impl_;
  int runs_ = 6;
  bool quick_ = false;
  std::set<std::string> names_, known_;
};

// note returns the size as a note, or "" for the size of BENCHMARKS.md.
inline std::string note(const char *before, long size, const char *after, long usual) {
  return size == usual ? "" : before + std::to_string(size) + after;
}

// forkJoin measures the problems on system and on reference, which may be null.
inline void forkJoin(Suite &s, const Sizes &z, const System &system, const System *reference) {
  long got = 0;
  if (s.wants("fork-join/fib")) {
    long calls = plain::fib(z.fib + 1) - 1;  // with n >= 2
    auto run = [&](const System &on) { got = on.fib(z.fib); };
    auto correct = [&] { return got == z.fibValue; };
    s.measure({"fork-join/fib", calls, note("fib(", z.fib, ")", full.fib), run, correct}, system, reference);
  }
  auto tree = [&](const char *name, int depth, int entries, const std::string &size) {
    if (!s.wants(name)) return;
    Tree t(depth);
    long nodes = t.size() * entries;
    auto run = [&](const System &on) {
      got = 0;
      for (int i = 0; i < entries; i++) got += on.sum(t.root());
    };
    s.measure({name, nodes, size, run, [&] { return got == nodes; }}, system, reference);
  };
  tree("fork-join/tree", z.tree, 1, note("2^", z.tree, "-1 nodes", full.tree));
  tree("fork-join/tree-small", 10, z.entries, note("", z.entries, " entries", full.entries));
  if (s.wants("fork-join/nqueens")) {
    Board b(z.queens);
    auto run = [&](const System &on) { got = on.queens(b); };
    auto correct = [&] { return got == z.solutions; };
    s.measure({"fork-join/nqueens", forks(b), note("", z.queens, " queens", full.queens), run, correct}, system, reference);
  }
  if (s.wants("fork-join/quicksort")) {
    const std::vector<int32_t> start = shuffled(z.sort);
    std::vector<int32_t> a;
    auto run = [&](const System &on) { on.sort(a.data(), a.data() + a.size()); };
    auto correct = [&] {
      for (long i = 0; i < z.sort; i++) {
        if (a[i] != i) return false;
      }
      return true;
    };
    auto size = note("", z.sort, " elements", full.sort);
    s.measure({"fork-join/quicksort", z.sort, size, run, correct, [&] { a = start; }}, system, reference);
  }
}

// idleCPU measures the processor time of an idle system after a burst.
inline void idleCPU(Suite &s, const Sizes &z, const System &system) {
  if (!s.wants("fork-join/idle-cpu")) return;
  long value = plain::fib(z.burst);
  s.idle("fork-join/idle-cpu", z.idleMs, [&] {
    if (system.fib(z.burst) != value) fail("fork-join/idle-cpu: the burst gave a wrong result");
  });
}

// Count waits for tasks and detects a task that runs twice. A Count must be static,
// because the last task may still use it when wait returns.
class Count {
 public:
  void expect(long tasks) { left_ = tasks; }
  void done() {
    long before = left_.fetch_sub(1);
    if (before <= 0) fail("more tasks ran than were scheduled");
    if (before == 1) left_.notify_all();
  }
  void wait() {
    for (long n; (n = left_.load()) > 0;) left_.wait(n);
  }

 private:
  std::atomic<long> left_;
};
