// Package par will hold fork-join parallelism on top of package sched: a
// function splits its work in two, offers one half, does the other, and joins.
// It is not built yet.
//
// A fork that nobody steals will cost a few nanoseconds: a store into a slot of
// the worker and one compare, without an allocation, a closure, or an atomic
// read-modify-write. Only when another worker is hungry will the oldest fork
// become a task that can be stolen. Until then, a [sched.Group] joins tasks.
//
// [sched.Group]: https://pkg.go.dev/github.com/lanewright/lanewright/sched#Group
package par
