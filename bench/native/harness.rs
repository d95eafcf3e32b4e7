//! The common part of the Rust programs: the command line, the clock, the runs and the rows.
#![allow(dead_code)] // each program uses only a part

use crate::problems::*;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Ends the program at once, because other threads may run.
pub fn fail(why: &str, code: i32) -> ! {
  eprintln!("{why}");
  std::process::exit(code)
}

/// Returns the processor time of the process in nanoseconds.
fn cpu() -> i64 {
  #[repr(C)]
  struct Timespec {
    sec: i64,
    nsec: i64,
  }
  extern "C" {
    fn clock_gettime(clock: i32, t: *mut Timespec) -> i32;
  }
  const CLOCK_PROCESS_CPUTIME_ID: i32 = 2; // on 64-bit Linux, as the types above
  let mut t = Timespec { sec: 0, nsec: 0 };
  if unsafe { clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &mut t) } != 0 {
    fail("the processor time of the process is unknown", 1);
  }
  t.sec * 1_000_000_000 + t.nsec
}

fn nanos(d: Duration) -> f64 {
  d.as_nanos() as f64
}

fn sorted(v: &[f64]) -> Vec<f64> {
  let mut v = v.to_vec();
  v.sort_by(f64::total_cmp);
  v
}

fn median(v: &[f64]) -> f64 {
  let (v, mid) = (sorted(v), v.len() / 2);
  if v.len() % 2 == 1 {
    v[mid]
  } else {
    (v[mid - 1] + v[mid]) / 2.0
  }
}

/// Returns value with four significant digits, or with all digits before the point.
fn number(value: f64) -> String {
  let digits = 3 - value.abs().max(1e-9).log10().floor() as i32;
  format!("{value:.*}", digits.max(0) as usize)
}

pub struct Sizes {
  fib: i64,
  fib_value: i64,
  tree: u32,
  entries: i64,
  queens: u32,
  solutions: i64,
  sort: usize,
  pub flood: usize,
  pub nodes: usize,
  pub trips: usize,
  burst: i64,
  idle: Duration,
}

pub const FULL: Sizes = Sizes {
  fib: 35,
  fib_value: 9227465,
  tree: 23,
  entries: 2000,
  queens: 13,
  solutions: 73712,
  sort: 10_000_000,
  flood: 1_000_000,
  nodes: (1 << 20) - 1,
  trips: 1000,
  burst: 25,
  idle: Duration::from_secs(5),
};

/// A system whose forks cost hundreds of nanoseconds gets smaller problems. Its figures
/// are those of one fork too.
pub const SLOW: Sizes =
  Sizes { fib: 27, fib_value: 196418, tree: 18, entries: 200, queens: 10, solutions: 724, burst: 20, ..FULL };

const QUICK: Sizes = Sizes {
  fib: 20,
  fib_value: 6765,
  tree: 12,
  entries: 50,
  queens: 8,
  solutions: 92,
  sort: 100_000,
  flood: 5000,
  nodes: (1 << 10) - 1,
  trips: 40,
  burst: 15,
  idle: Duration::from_millis(20),
};

/// The solutions of the problems on one system. External threads call them.
pub struct System<'a> {
  pub fib: &'a dyn Fn(i64) -> i64,
  pub sum: &'a dyn Fn(&'static Node) -> i64,
  pub queens: &'a dyn Fn(Board) -> i64,
  pub sort: &'a dyn Fn(&mut [i32]),
}

pub const SEQUENTIAL: System<'static> =
  System { fib: &plain::fib, sum: &|n| plain::sum(Some(n)), queens: &plain::queens, sort: &plain::sort };

/// A program: its command line and its measurements.
///
///   PROGRAM [-workers N] [-runs N] [-quick] [NAME ...]
pub struct Suite {
  pub workers: usize,
  system: &'static str,
  runs: usize,
  quick: bool,
  names: BTreeSet<String>,
  known: RefCell<BTreeSet<String>>,
}

/// The work of a benchmark. Only run is measured.
pub struct Work<'a> {
  pub name: &'a str,
  pub ops: f64,
  pub note: String, // the size, when it differs from that of BENCHMARKS.md
  pub run: &'a dyn Fn(&System),
  pub correct: &'a dyn Fn() -> bool, // whether the result of the last run is correct
  pub prepare: &'a dyn Fn(),
}

#[derive(Default)]
struct Row {
  values: Vec<f64>,
  cpus: Vec<f64>,
  ratios: Vec<f64>,
  p99s: Vec<f64>,
  note: String,
}

impl Suite {
  pub fn new(system: &'static str) -> Suite {
    let mut s =
      Suite { system, workers: 1, runs: 6, quick: false, names: BTreeSet::new(), known: RefCell::default() };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
      match arg.as_str() {
        "-quick" => s.quick = true,
        "-workers" => s.workers = count(&arg, args.next()),
        "-runs" => s.runs = count(&arg, args.next()),
        _ if arg.starts_with('-') => fail(&format!("{arg}: the flags are -workers N, -runs N and -quick"), 2),
        _ => {
          s.names.insert(arg);
        }
      }
    }
    s
  }

  pub fn sizes(&self, z: &'static Sizes) -> &'static Sizes {
    if self.quick {
      &QUICK
    } else {
      z
    }
  }

  /// Reports whether the command line names a benchmark, or has no names.
  pub fn wants(&self, name: &str) -> bool {
    self.known.borrow_mut().insert(name.to_string());
    self.names.is_empty() || self.names.contains(name)
  }

  /// Refuses names that the program does not have.
  pub fn end(&self) {
    if let Some(name) = self.names.difference(&self.known.borrow()).next() {
      fail(&format!("{name}: {} has no such benchmark", self.system), 2);
    }
  }

  /// Runs w on system and on reference in turn: once to warm up, and then self.runs
  /// times.
  pub fn measure(&self, w: &Work, system: &System, reference: Option<&System>) {
    let mut row = Row { note: w.note.clone(), ..Row::default() };
    for run in 0..=self.runs {
      let sequential = || reference.map(|reference| self.once(w, reference, ", sequential"));
      let before = if run % 2 == 1 { sequential() } else { None };
      let (time, cpu) = self.once(w, system, "");
      let base = before.or_else(sequential);
      if run == 0 {
        continue;
      }
      row.values.push(time);
      row.cpus.push(cpu);
      row.ratios.extend(base.map(|(base, _)| time / base));
    }
    self.print(w.name, "ns/op", &row);
  }

  /// Returns the time and the processor time of one operation.
  fn once(&self, w: &Work, on: &System, which: &str) -> (f64, f64) {
    (w.prepare)();
    let (cpu_began, began) = (cpu(), Instant::now());
    (w.run)(on);
    let (time, used) = (nanos(began.elapsed()), (cpu() - cpu_began) as f64);
    if !(w.correct)() {
      fail(&format!("{}: {}{which}: wrong result", self.system, w.name), 1);
    }
    (time / w.ops, used / w.ops)
  }

  /// Measures trips. Each trip follows a pause and returns its time, from which the cost
  /// of reading the clock is subtracted.
  pub fn latencies(&self, name: &str, trips: usize, trip: &dyn Fn() -> Duration) {
    let clock: Vec<f64> = (0..1001).map(|_| nanos(Instant::now().elapsed())).collect();
    let clock_cost = median(&clock);
    let mut row = Row::default();
    for run in 0..=self.runs {
      let cpu_began = cpu();
      let mut ns = Vec::new();
      for _ in 0..trips {
        thread::sleep(Duration::from_micros(300));
        ns.push((nanos(trip()) - clock_cost).max(0.0));
      }
      let used = (cpu() - cpu_began) as f64;
      let ns = sorted(&ns);
      if run == 0 {
        continue;
      }
      row.values.push(ns[(trips * 50 + 99) / 100 - 1]);
      row.p99s.push(ns[(trips * 99 + 99) / 100 - 1]);
      row.cpus.push(used / trips as f64);
    }
    self.print(name, "ns/op", &row);
  }

  /// Measures the processor time of the process after a burst.
  fn idle(&self, name: &str, time: Duration, burst: &dyn Fn()) {
    let mut row = Row::default();
    for run in 0..=self.runs {
      burst();
      let began = cpu();
      thread::sleep(time);
      if run > 0 {
        row.values.push((cpu() - began) as f64 / 1e6);
      }
    }
    self.print(name, "ms CPU", &row);
  }

  fn print(&self, name: &str, unit: &str, row: &Row) {
    let v = sorted(&row.values);
    let mut line = format!(
      r#"{{"bench":"{name}","impl":"{}","workers":{},"value":{},"unit":"{unit}","better":"less","min":{},"max":{},"runs":{},"ratios":{{"#,
      self.system,
      self.workers,
      number(median(&v)),
      number(v[0]),
      number(v[v.len() - 1]),
      self.runs
    );
    if !row.ratios.is_empty() {
      line += &format!(r#""sequential":{}"#, number(median(&row.ratios)));
    }
    line += "}";
    if !row.cpus.is_empty() {
      line += &format!(r#","cpu_ns_per_op":{}"#, number(median(&row.cpus)));
    }
    if !row.p99s.is_empty() {
      line += &format!(r#","p99":{}"#, number(median(&row.p99s)));
    }
    if !row.note.is_empty() {
      line += &format!(r#","note":"{}""#, row.note);
    }
    println!("{line}}}");
  }
}

fn count(flag: &str, text: Option<String>) -> usize {
  match text.and_then(|t| t.parse().ok()) {
    Some(n @ 1..=10_000) => n,
    _ => fail(&format!("{flag}: want a number between 1 and 10000"), 2),
  }
}

/// Returns text as a note, or "" for the usual size, which is that of BENCHMARKS.md.
fn note<T: PartialEq>(size: T, usual: T, text: String) -> String {
  if size == usual {
    String::new()
  } else {
    text
  }
}

/// Measures the problems on system and on reference.
pub fn fork_join(s: &Suite, z: &Sizes, system: &System, reference: Option<&System>) {
  let got = Cell::new(0);
  if s.wants("fork-join/fib") {
    let calls = plain::fib(z.fib + 1) - 1; // with n >= 2
    let w = Work {
      name: "fork-join/fib",
      ops: calls as f64,
      note: note(z.fib, FULL.fib, format!("fib({})", z.fib)),
      run: &|on| got.set((on.fib)(z.fib)),
      correct: &|| got.get() == z.fib_value,
      prepare: &|| (),
    };
    s.measure(&w, system, reference);
  }
  let large = note(z.tree, FULL.tree, format!("2^{}-1 nodes", z.tree));
  let small = note(z.entries, FULL.entries, format!("{} entries", z.entries));
  for (name, depth, entries, note) in
    [("fork-join/tree", z.tree, 1, large), ("fork-join/tree-small", 10, z.entries, small)]
  {
    if !s.wants(name) {
      continue;
    }
    let t = tree(depth);
    let nodes = ((1 << depth) - 1) * entries;
    let w = Work {
      name,
      ops: nodes as f64,
      note,
      run: &|on| got.set((0..entries).map(|_| (on.sum)(t)).sum()),
      correct: &|| got.get() == nodes,
      prepare: &|| (),
    };
    s.measure(&w, system, reference);
  }
  if s.wants("fork-join/nqueens") {
    let b = Board::new(z.queens);
    let w = Work {
      name: "fork-join/nqueens",
      ops: forks(b) as f64,
      note: note(z.queens, FULL.queens, format!("{} queens", z.queens)),
      run: &|on| got.set((on.queens)(b)),
      correct: &|| got.get() == z.solutions,
      prepare: &|| (),
    };
    s.measure(&w, system, reference);
  }
  if s.wants("fork-join/quicksort") {
    let start = shuffled(z.sort);
    let a = RefCell::new(start.clone());
    let w = Work {
      name: "fork-join/quicksort",
      ops: z.sort as f64,
      note: note(z.sort, FULL.sort, format!("{} elements", z.sort)),
      run: &|on| (on.sort)(&mut a.borrow_mut()),
      correct: &|| a.borrow().iter().enumerate().all(|(i, &v)| v == i as i32),
      prepare: &|| a.borrow_mut().copy_from_slice(&start),
    };
    s.measure(&w, system, reference);
  }
}

/// Measures the processor time of an idle system after a burst.
pub fn idle_cpu(s: &Suite, z: &Sizes, system: &System) {
  if s.wants("fork-join/idle-cpu") {
    let value = plain::fib(z.burst);
    s.idle("fork-join/idle-cpu", z.idle, &|| {
      if (system.fib)(z.burst) != value {
        fail("fork-join/idle-cpu: the burst gave a wrong result", 1);
      }
    });
  }
}

/// Schedules a task on a system, from an external thread or from a task.
pub trait Spawn: Copy + Send + Sync + 'static {
  fn spawn(self, task: impl FnOnce() + Send + 'static);
}

/// Measures tasks without forks. The caller waits for the end of all tasks.
pub fn tasks(s: &Suite, z: &'static Sizes, on: impl Spawn) {
  external(s, z.flood, on);
  local_tree(s, z.nodes, on);
  wake(s, z.trips, on);
}

fn external(s: &Suite, tasks: usize, on: impl Spawn) {
  if !s.wants("sched/external-1") {
    return;
  }
  let left: &'static Count = Count::new();
  let w = Work {
    name: "sched/external-1",
    ops: tasks as f64,
    note: note(tasks, FULL.flood, format!("{tasks} tasks")),
    run: &|_| {
      for _ in 0..tasks {
        on.spawn(move || left.done());
      }
      left.wait();
    },
    correct: &|| true, // Count checks the number of tasks
    prepare: &|| left.expect(tasks as u64),
  };
  s.measure(&w, &SEQUENTIAL, None);
}

fn local_tree(s: &Suite, nodes: usize, on: impl Spawn) {
  if !s.wants("sched/local-tree") {
    return;
  }
  let left: &'static Count = Count::new();
  let w = Work {
    name: "sched/local-tree",
    ops: nodes as f64,
    note: note(nodes, FULL.nodes, format!("{nodes} tasks")),
    run: &|_| {
      on.spawn(move || node(on, 0, nodes, left));
      left.wait();
    },
    correct: &|| true,
    prepare: &|| left.expect(nodes as u64),
  };
  s.measure(&w, &SEQUENTIAL, None);
}

fn node(on: impl Spawn, i: usize, nodes: usize, left: &'static Count) {
  let child = 2 * i + 1;
  if child < nodes {
    on.spawn(move || node(on, child, nodes, left));
    on.spawn(move || node(on, child + 1, nodes, left));
  }
  left.done();
}

/// Measures the time from the call to the first instruction of the task.
fn wake(s: &Suite, trips: usize, on: impl Spawn) {
  if !s.wants("sched/wake") {
    return;
  }
  let left: &'static Count = Count::new();
  let took: &'static AtomicU64 = Box::leak(Box::default());
  s.latencies("sched/wake", trips, &|| {
    left.expect(1);
    let called = Instant::now();
    on.spawn(move || {
      took.store(called.elapsed().as_nanos() as u64, Ordering::Relaxed);
      left.done();
    });
    left.wait();
    Duration::from_nanos(took.load(Ordering::Relaxed))
  });
}

/// Waits for tasks and detects a task that runs twice. Only the thread that makes a Count
/// may wait.
struct Count {
  left: AtomicU64,
  waiter: Thread,
}

impl Count {
  fn new() -> &'static Count {
    Box::leak(Box::new(Count { left: AtomicU64::new(0), waiter: thread::current() }))
  }

  fn expect(&self, tasks: u64) {
    self.left.store(tasks, Ordering::Relaxed);
  }

  fn done(&self) {
    match self.left.fetch_sub(1, Ordering::AcqRel) {
      0 => fail("more tasks ran than were scheduled", 1),
      1 => self.waiter.unpark(),
      _ => (),
    }
  }

  fn wait(&self) {
    while self.left.load(Ordering::Acquire) != 0 {
      thread::park();
    }
  }
}
