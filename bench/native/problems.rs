//! The problems of internal/kernel and internal/qsort, and their sequential
//! solutions in plain Rust.

pub struct Node {
  pub left: Option<&'static Node>,
  pub right: Option<&'static Node>,
  pub value: i64,
}

/// Returns a complete tree of 2^depth-1 nodes with value 1, which is never freed. The
/// nodes are in one array in the order of a walk that visits left before right.
pub fn tree(depth: u32) -> &'static Node {
  let nodes: Vec<Node> = (1..1 << depth).map(|_| Node { left: None, right: None, value: 1 }).collect();
  let mut rest = Box::leak(nodes.into_boxed_slice()).iter_mut();
  grow(depth, &mut rest)
}

fn grow(depth: u32, rest: &mut std::slice::IterMut<'static, Node>) -> &'static Node {
  let n = rest.next().expect("a node for each position in the tree");
  if depth > 1 {
    n.left = Some(grow(depth - 1, rest));
    n.right = Some(grow(depth - 1, rest));
  }
  n
}

/// A node of the search for the places of n queens. It has two parts: the first free
/// column of the next row, and the rest of the free columns.
#[derive(Clone, Copy)]
pub struct Board {
  pub free: u32, // columns of this row to try
  open: u32,     // columns without a queen
  left: u32,     // occupied diagonals, as columns of this row
  right: u32,
}

impl Board {
  pub fn new(n: u32) -> Board {
    let all = (1 << n) - 1;
    Board { free: all, open: all, left: 0, right: 0 }
  }

  pub fn first(self) -> Board {
    let q = self.free & self.free.wrapping_neg();
    let (open, left, right) = (self.open & !q, (self.left | q) << 1, (self.right | q) >> 1);
    Board { free: open & !(left | right), open, left, right }
  }

  pub fn rest(self) -> Board {
    Board { free: self.free & (self.free - 1), ..self }
  }

  /// Returns the number of solutions of a node without a free column.
  pub fn solutions(self) -> i64 {
    i64::from(self.open == 0)
  }
}

/// Returns how many nodes with a free column the search visits.
pub fn forks(b: Board) -> i64 {
  if b.free == 0 {
    return 0;
  }
  1 + forks(b.first()) + forks(b.rest())
}

/// The largest part that insertion sorts.
pub const CUTOFF: usize = 32;

/// Returns 0, 1, 2, ... in the order of the benchmark.
pub fn shuffled(n: usize) -> Vec<i32> {
  let mut a: Vec<i32> = (0..n as i32).collect();
  let mut x = 0xdeadbeef_u32;
  for i in 0..n {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    a.swap(i, x as usize % (i + 1));
  }
  a
}

/// Moves the elements that are not greater than the last element to the front, and the
/// last element behind them. Returns the two halves, which meet at that element.
pub fn partition(a: &mut [i32]) -> (&mut [i32], &mut [i32]) {
  let last = a.len() - 1;
  let pivot = a[last];
  let mut mid = 0;
  for i in 0..last {
    if a[i] <= pivot {
      a.swap(i, mid);
      mid += 1;
    }
  }
  a.swap(last, mid);
  a.split_at_mut(mid)
}

pub fn insertion(a: &mut [i32]) {
  for i in 1..a.len() {
    let mut n = i;
    while n > 0 && a[n] < a[n - 1] {
      a.swap(n, n - 1);
      n -= 1;
    }
  }
}

pub mod plain {
  use super::*;

  pub fn fib(n: i64) -> i64 {
    if n < 2 {
      return n;
    }
    fib(n - 1) + fib(n - 2)
  }

  pub fn sum(tree: Option<&'static Node>) -> i64 {
    match tree {
      None => 0,
      Some(n) => n.value + sum(n.left) + sum(n.right),
    }
  }

  pub fn queens(b: Board) -> i64 {
    if b.free == 0 {
      return b.solutions();
    }
    queens(b.first()) + queens(b.rest())
  }

  pub fn sort(a: &mut [i32]) {
    if a.len() <= CUTOFF {
      return insertion(a);
    }
    let (low, high) = partition(a);
    sort(low);
    sort(high);
  }
}
