package sched_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"

	"github.com/lanewright/lanewright/sched"
)

// leaves is a tree of strings.
type leaves struct {
	text        string
	left, right *leaves
}

// leavesOf returns a tree of the given depth.
func leavesOf(depth int, text string) *leaves {
	if depth == 0 {
		return &leaves{text: text}
	}
	return &leaves{left: leavesOf(depth-1, text+"a"), right: leavesOf(depth-1, text+"b")}
}

// count counts the leaves, and forks at every inner node.
func (n *leaves) count(f *sched.Forks[*leaves, int]) int {
	if n.left == nil {
		return 1
	}
	f.Fork(n.right)
	left := n.left.count(f)
	if f.TakeBackPointer() {
		return left + n.right.count(f)
	}
	return left + f.Await()
}

// A body forks a part of its work, does the rest, and joins the fork. nil is [sched.Default].
// This is the form for arguments with pointers.
func ExampleForks() {
	body := func(f *sched.Forks[*leaves, int], n *leaves) int { return n.count(f) }
	fmt.Println(sched.ForkJoin(nil, body, leavesOf(10, "")))
	// Output: 1024
}

// Fibonacci numbers in the form that costs least. The fork in each call is a store and a
// compare, unless another worker wants a fork.
func ExampleForkJoin() {
	var fib func(f *sched.Forks[int, int], n int) int
	fib = func(f *sched.Forks[int, int], n int) int {
		if n < 2 {
			return n
		}
		f.Push(n - 2)
		if f.Wanted() {
			f.Promote()
		}
		x := fib(f, n-1)
		if f.TakeBack() {
			return x + fib(f, n-2)
		}
		return x + f.Await()
	}
	fmt.Println(sched.ForkJoin(nil, fib, 20))
	// Output: 6765
}

// A body calls Cancelled often and returns early after the end of its context.
func ExampleForkJoinContext() {
	ctx, cancel := context.WithCancelCause(context.Background())
	found := errors.New("found")
	search := func(f *sched.Forks[int, int], n int) int {
		for ; !f.Cancelled(); n++ {
			if sha256.Sum256(strconv.AppendInt(nil, int64(n), 10))[0] == 0 {
				cancel(found) // all forks of the computation see it
			}
		}
		return n
	}
	n, err := sched.ForkJoinContext(ctx, nil, search, 100)
	fmt.Println(n > 100, err)
	// Output: true found
}

// Join2 forks the second argument, runs the body on the first, and joins the fork.
func ExampleForks_Join2() {
	type span struct{ lo, hi int }
	sum := func(f *sched.Forks[span, int], s span) int {
		if s.hi-s.lo == 1 {
			return s.lo
		}
		mid := (s.lo + s.hi) / 2
		x, y := f.Join2(span{s.lo, mid}, span{mid, s.hi})
		return x + y
	}
	fmt.Println(sched.ForkJoin(nil, sum, span{0, 1001}))
	// Output: 500500
}

// Forks that are functions. Each function stores its result in a variable that it
// captures.
func ExampleScope() {
	var evens, odds int
	sched.ForkJoinFunc(nil, func(c sched.Scope) {
		c.Join(
			func(sched.Scope) {
				for n := 0; n < 100; n += 2 {
					evens += n
				}
			},
			func(sched.Scope) {
				for n := 1; n < 100; n += 2 {
					odds += n
				}
			},
		)
	})
	fmt.Println(evens, odds)
	// Output: 2450 2500
}

// Forks that are functions which return a value.
func ExampleScopeOf() {
	greeting := sched.ForkJoinValue(nil, func(c sched.ScopeOf[string]) string {
		first, second := c.Join(
			func(sched.ScopeOf[string]) string { return "left" },
			func(sched.ScopeOf[string]) string { return "right" },
		)
		return first + " and " + second
	})
	fmt.Println(greeting)
	// Output: left and right
}
