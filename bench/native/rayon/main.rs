//! rayon.

#[path = "../harness.rs"]
mod harness;
#[path = "../problems.rs"]
mod problems;

use harness::*;
use problems::*;

// join runs its first argument directly and forks the other one. The outermost join
// schedules the whole computation on a worker.

fn fib(n: i64) -> i64 {
  if n < 2 {
    return n;
  }
  let (x, y) = rayon::join(|| fib(n - 1), || fib(n - 2));
  x + y
}

fn sum(n: &'static Node) -> i64 {
  if let (Some(left), Some(right)) = (n.left, n.right) {
    let (x, y) = rayon::join(|| sum(left), || sum(right));
    return n.value + x + y;
  }
  n.value
}

fn queens(b: Board) -> i64 {
  if b.free == 0 {
    return b.solutions();
  }
  let (x, y) = rayon::join(|| queens(b.first()), || queens(b.rest()));
  x + y
}

fn sort(a: &mut [i32]) {
  if a.len() <= CUTOFF {
    return insertion(a);
  }
  let (low, high) = partition(a);
  rayon::join(|| sort(low), || sort(high));
}

#[derive(Clone, Copy)]
struct Pool;

impl Spawn for Pool {
  fn spawn(self, task: impl FnOnce() + Send + 'static) {
    rayon::spawn(task);
  }
}

fn main() {
  let s = Suite::new("rayon");
  let z = s.sizes(&FULL);
  rayon::ThreadPoolBuilder::new().num_threads(s.workers).build_global().expect("no pool exists yet");
  let system = System { fib: &fib, sum: &sum, queens: &queens, sort: &sort };
  fork_join(&s, z, &system, Some(&SEQUENTIAL));
  idle_cpu(&s, z, &system);
  tasks(&s, z, Pool);
  s.end();
}
