//! Tokio with its multi-threaded scheduler.

#[path = "../harness.rs"]
mod harness;
#[path = "../problems.rs"]
mod problems;

use harness::*;
use problems::*;
use std::future::Future;
use std::pin::Pin;
use tokio::runtime::{Builder, Runtime};

/// A boxed future: futures of recursive functions must be boxed.
type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

const DIED: &str = "a task panicked";

fn fib(n: i64) -> Boxed<i64> {
  Box::pin(async move {
    if n < 2 {
      return n;
    }
    let y = tokio::spawn(fib(n - 2));
    let x = fib(n - 1).await;
    x + y.await.expect(DIED)
  })
}

fn sum(n: &'static Node) -> Boxed<i64> {
  Box::pin(async move {
    if let (Some(left), Some(right)) = (n.left, n.right) {
      let y = tokio::spawn(sum(right));
      let x = sum(left).await;
      return n.value + x + y.await.expect(DIED);
    }
    n.value
  })
}

fn queens(b: Board) -> Boxed<i64> {
  Box::pin(async move {
    if b.free == 0 {
      return b.solutions();
    }
    let y = tokio::spawn(queens(b.rest()));
    let x = queens(b.first()).await;
    x + y.await.expect(DIED)
  })
}

fn sort(a: &'static mut [i32]) -> Boxed<()> {
  Box::pin(async move {
    if a.len() <= CUTOFF {
      return insertion(a);
    }
    let (low, high) = partition(a);
    let high = tokio::spawn(sort(high));
    sort(low).await;
    high.await.expect(DIED);
  })
}

/// Extends the lifetime of a, as tasks require. The caller waits for all tasks.
fn lend(a: &mut [i32]) -> &'static mut [i32] {
  unsafe { std::slice::from_raw_parts_mut(a.as_mut_ptr(), a.len()) }
}

#[derive(Clone, Copy)]
struct Handle(&'static Runtime);

impl Handle {
  /// Runs f on a worker, because the calling thread is not one.
  fn root<T: Send + 'static>(self, f: Boxed<T>) -> T {
    self.0.block_on(self.0.spawn(f)).expect(DIED)
  }
}

impl Spawn for Handle {
  fn spawn(self, task: impl FnOnce() + Send + 'static) {
    self.0.spawn(async { task() });
  }
}

fn main() {
  let s = Suite::new("tokio");
  let z = s.sizes(&SLOW);
  let runtime = Builder::new_multi_thread().worker_threads(s.workers).build().expect("a runtime");
  let on = Handle(Box::leak(Box::new(runtime)));
  let system = System {
    fib: &|n| on.root(fib(n)),
    sum: &|n| on.root(sum(n)),
    queens: &|b| on.root(queens(b)),
    sort: &|a| on.root(sort(lend(a))),
  };
  fork_join(&s, z, &system, Some(&SEQUENTIAL));
  idle_cpu(&s, z, &system);
  tasks(&s, z, on);
  s.end();
}
