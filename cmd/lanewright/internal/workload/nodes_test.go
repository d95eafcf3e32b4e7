package workload

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// testNode is held by one goroutine at a time.
type testNode struct {
	prepared int
	holders  atomic.Int32
}

// TestNodes takes and gives from several goroutines at once, each as its own
// worker and one without a place, and hands nodes on to others.
func TestNodes(t *testing.T) {
	const workers, rounds = 3, 40
	p := newNodes(workers, func(n *testNode) { n.prepared++ })
	pass := make(chan []*testNode, 2*workers)
	give := func(id int, batch []*testNode) {
		for _, n := range batch {
			n.holders.Add(-1)
			p.put(id, n)
		}
	}
	var wg sync.WaitGroup
	for id := -1; id < workers; id++ {
		wg.Go(func() {
			for round := range rounds {
				got := make([]*testNode, 100+97*round%(3*magazineNodes))
				for i := range got {
					got[i] = p.get(id)
					if got[i].prepared != 1 || got[i].holders.Add(1) != 1 {
						t.Errorf("node with %d preparations is held by %d", got[i].prepared, got[i].holders.Load())
						return
					}
				}
				select {
				case pass <- got: // for whoever is next
				default:
					give(id, got)
				}
				select {
				case other := <-pass:
					give(id, other)
				default:
				}
			}
		})
	}
	wg.Wait()
	close(pass)
	out := 0
	for got := range pass {
		out += len(got)
	}
	// All other nodes are in magazines, each once.
	seen := map[*testNode]bool{}
	count := func(stacks ...[]*testNode) {
		for _, s := range stacks {
			for _, n := range s {
				if seen[n] || n.holders.Load() != 0 {
					t.Fatal("a node lies in two magazines, or is held")
				}
				seen[n] = true
			}
		}
	}
	count(p.full...)
	count(p.extra.loaded, p.extra.spare)
	for i := range p.local {
		count(p.local[i].loaded, p.local[i].spare)
	}
	if p.made == 0 || len(seen)+out != p.made {
		t.Errorf("%d nodes in magazines and %d out, of %d made", len(seen), out, p.made)
	}
}

// TestNodesSteady checks that a program which takes as many as it gives makes no
// new nodes.
func TestNodesSteady(t *testing.T) {
	p := newNodes(2, func(*testNode) {})
	move := func() { // taken by worker 0, given back by worker 1
		for range 10 * magazineNodes {
			p.put(1, p.get(0))
		}
	}
	move()
	if got := testing.AllocsPerRun(10, move); got > 0 {
		t.Errorf("%v allocations a run, want 0", got)
	}
}

// TestSorts sorts in every way that the benchmarks compare, and checks the counts.
// Z-101.
func TestSorts(t *testing.T) {
	for _, size := range []int{1, qsort.Cutoff, qsort.Cutoff + 1, 100_000} {
		want := Parts(size)
		for _, workers := range []int{1, 3} {
			s, err := sched.New(sched.Config{MaxWorkers: workers})
			if err != nil {
				t.Fatal(err)
			}
			for name, sort := range map[string]func(a []int32) (int, error){
				"sorter": func(a []int32) (int, error) {
					o := NewSorter(s)
					err := o.Sort(a)
					return o.Tasks(), err
				},
				"joiner": func(a []int32) (int, error) {
					o := NewJoiner(s)
					err := o.Sort(a)
					return o.Tasks(), err
				},
				"goroutines":          func(a []int32) (int, error) { GoSort(a); return NotCounted, nil },
				"goroutines, joining": func(a []int32) (int, error) { GoJoin(a); return NotCounted, nil },
				"a channel pool":      func(a []int32) (int, error) { PoolSort(workers, a); return NotCounted, nil },
			} {
				a := make([]int32, size)
				qsort.Fill(a)
				qsort.Shuffle(a)
				tasks, err := sort(a)
				if err != nil {
					t.Errorf("%s of %d: %v", name, size, err)
				}
				if err := CheckSort(a, tasks, want); err != nil {
					t.Errorf("%s of %d with %d workers: %v", name, size, workers, err)
				}
			}
			if err := Shutdown(s); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCheckSort checks that a wrong result is seen.
func TestCheckSort(t *testing.T) {
	for _, tc := range []struct {
		name  string
		a     []int32
		tasks int
		ok    bool
	}{
		{"right", []int32{0, 1, 2}, 4, true},
		{"not counted", []int32{0, 1, 2}, NotCounted, true},
		{"order", []int32{1, 0, 2}, 4, false},
		{"lost task", []int32{0, 1, 2}, 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := CheckSort(tc.a, tc.tasks, 4); (err == nil) != tc.ok {
				t.Errorf("CheckSort = %v, want ok: %t", err, tc.ok)
			}
		})
	}
}

// TestSortRefused checks that a scheduler which refuses tasks fails the sort.
func TestSortRefused(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := Shutdown(s); err != nil {
		t.Fatal(err)
	}
	for _, o := range []interface{ Sort(a []int32) error }{NewSorter(s), NewJoiner(s)} {
		if err := o.Sort(make([]int32, 1000)); err == nil {
			t.Errorf("%T: no error from a scheduler that is shut down", o)
		}
	}
}
