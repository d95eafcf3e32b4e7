package sched_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/lanewright/lanewright/sched"
)

// At most two functions at a time, and all errors.
func ExampleGroupConfig() {
	var s sched.Scheduler
	g := s.NewGroup(sched.GroupConfig{Limit: 2, AllErrors: true})
	for _, host := range []string{"a", "b", "c"} {
		g.Go(func() error {
			if host == "b" {
				return errors.New(host + " does not answer")
			}
			return nil
		})
	}
	fmt.Println(g.Wait())
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// b does not answer
	// <nil>
}

// A callback hands its worker on to what it calls: tasks stay near, and a wait
// helps.
func ExampleWorker() {
	type node struct {
		children []*node
		size     int
	}
	var measure func(w *sched.Worker, n *node) int
	measure = func(w *sched.Worker, n *node) int {
		sizes := make([]int, len(n.children))
		var g sched.Group
		for i, c := range n.children {
			err := g.Schedule(w, &sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { sizes[i] = measure(w, c) }})
			if err != nil {
				fmt.Println(err)
			}
		}
		if err := w.Wait(&g); err != nil {
			fmt.Println(err)
		}
		sum := n.size
		for _, size := range sizes {
			sum += size
		}
		return sum
	}

	tree := &node{size: 1, children: []*node{{size: 2}, {size: 3, children: []*node{{size: 4}}}}}
	s, err := sched.New(sched.Config{MaxWorkers: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	sum := 0
	if err := s.Do(&sched.Task{Fn: func(w *sched.Worker, _ *sched.Task) { sum = measure(w, tree) }}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(sum)
	fmt.Println(s.Shutdown(context.Background()))
	// Output:
	// 10
	// <nil>
}
