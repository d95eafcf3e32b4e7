//! The problems in plain Rust, without parallelism.

mod harness;
mod problems;

use harness::*;

fn main() {
  let s = Suite::new("sequential-rust");
  fork_join(&s, s.sizes(&FULL), &SEQUENTIAL, None);
  s.end();
}
