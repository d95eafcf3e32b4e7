//go:build race

package interleave_test

import (
	"os"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/proctest"
)

// plainItem is an item with a plain variable, which the race detector observes.
type plainItem struct{ n int }

// recyclers passes items with plain variables between threads. The threads make the items
// themselves, and are ordered by the items alone. There are more items than the explorer
// makes room for at once.
func recyclers(m *interleave.M) {
	p := &interleave.Pool{}
	p.New = func() any { return &plainItem{n: 1} }
	p.Put(&plainItem{n: 1})
	var word interleave.Uint32
	for range 2 {
		m.Go("recycler", func() {
			items := make([]*plainItem, 20)
			for i := range items {
				items[i] = p.Get().(*plainItem)
				items[i].n++
			}
			word.Store(0)
			for _, i := range items {
				i.n++
				p.Put(i)
			}
		})
	}
	m.Go("other", func() {
		for range 3 {
			word.Load()
		}
	})
	m.Final(func() {
		for range 20 {
			if n := p.Get().(*plainItem).n; n < 3 || n > 5 {
				m.Fatalf("an item was used %d times", n)
			}
		}
	})
}

// passed runs a and b in two threads with a Pool and a plain variable.
func passed(a, b func(p *interleave.Pool, n *int)) func(m *interleave.M) {
	return func(m *interleave.M) {
		var p interleave.Pool
		n := new(int)
		m.Go("a", func() { a(&p, n) })
		m.Go("b", func() { b(&p, n) })
	}
}

// racyPools are programs with a race, by the name of the edge that would hide it.
var racyPools = map[string]func(m *interleave.M){
	"put-after": passed(func(p *interleave.Pool, n *int) { p.Put(n); *n = 1 }, func(p *interleave.Pool, n *int) {
		if p.Get() != nil {
			*n = 2
		}
	}),
	"get-nothing": passed(func(p *interleave.Pool, n *int) { *n = 1; p.Put(1); p.Get() }, func(p *interleave.Pool, n *int) {
		if p.Get() == nil {
			*n = 2
		}
	}),
	"put-put": passed(func(p *interleave.Pool, n *int) { *n = 1; p.Put(1) }, func(p *interleave.Pool, n *int) { p.Put(2); *n = 2 }),
	"get-put": passed(func(p *interleave.Pool, n *int) { p.Get(); *n = 1; p.Get() }, func(p *interleave.Pool, n *int) { p.Put(2); *n = 2 }),
	"another-item": passed(func(p *interleave.Pool, n *int) { *n = 1; p.Put(1) }, func(p *interleave.Pool, n *int) {
		p.Put(2)
		if p.Get() == 2 {
			*n = 2
		}
	}),
	"new": passed(func(p *interleave.Pool, n *int) { p.New = func() any { return 1 } }, func(p *interleave.Pool, n *int) { p.Get() }),
}

const poolChildEnv = "INTERLEAVE_POOL_RACE_CHILD"

// TestPoolRaceChild is the child process of TestRaceDetectorSeesEdgesOfPool.
func TestPoolRaceChild(t *testing.T) {
	switch mode := os.Getenv(poolChildEnv); mode {
	case "":
		t.Skip("TestRaceDetectorSeesEdgesOfPool starts this test in a child process")
	case "good":
		interleave.Check(t, "good", interleave.Options{Preemptions: 1}, recyclers)
		interleave.Check(t, "good-random", interleave.Options{Strategy: interleave.Random, Executions: 500}, recyclers)
		for _, bound := range []int{1, interleave.All} {
			interleave.Check(t, "good-pass", interleave.Options{Preemptions: bound}, passed(
				func(p *interleave.Pool, n *int) { *n = 1; p.Put(n); p.Put(1) },
				func(p *interleave.Pool, n *int) {
					for range 2 {
						if m, ok := p.Get().(*int); ok {
							*m = 2
						}
					}
				}))
		}
	default:
		interleave.Check(t, mode, interleave.Options{Preemptions: interleave.All}, racyPools[mode])
	}
}

// TestRaceDetectorSeesEdgesOfPool: with Baton the race detector sees that the Put of an item
// happens before the Get that returns it, and sees no other order. It sees that a Get
// without an item reads New.
func TestRaceDetectorSeesEdgesOfPool(t *testing.T) {
	run := func(mode string) (out string, ok bool) {
		out, err := proctest.Output(t, proctest.Self(t, []string{poolChildEnv + "=" + mode}, "-test.run=^TestPoolRaceChild$", "-test.v"))
		return out, err == nil
	}
	if out, ok := run("good"); !ok || strings.Contains(out, "DATA RACE") || strings.Count(out, "complete=") != 4 {
		t.Errorf("a program without races failed:\n%s", out)
	}
	for mode := range racyPools {
		if out, ok := run(mode); ok || !strings.Contains(out, "DATA RACE") || !strings.Contains(out, "-interleave.replay="+mode+":") {
			t.Errorf("the race detector has not reported the race %s:\n%s", mode, out)
		}
	}
}
