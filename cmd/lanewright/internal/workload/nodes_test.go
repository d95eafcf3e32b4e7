package workload

import (
	"sync"
	"sync/atomic"
	"testing"
)

// testNode is a node that one goroutine holds at a time.
type testNode struct {
	prepared int
	holders  atomic.Int32
}

// TestNodes checks that each node is held once at a time. Several goroutines get nodes and
// put them back, one for each worker and one without a place, and pass nodes to each
// other.
func TestNodes(t *testing.T) {
	const workers, rounds = 3, 40
	p := newNodes(workers, func(n *testNode) { n.prepared++ })
	pass := make(chan []*testNode, 2*workers)
	putAll := func(id int, batch []*testNode) {
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
				case pass <- got: // to the next goroutine that receives
				default:
					putAll(id, got)
				}
				select {
				case other := <-pass:
					putAll(id, other)
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
	// Each of the other nodes is in exactly one magazine.
	seen := map[*testNode]bool{}
	count := func(stacks ...[]*testNode) {
		for _, s := range stacks {
			for _, n := range s {
				if seen[n] || n.holders.Load() != 0 {
					t.Fatal("a node is in two magazines, or is held")
				}
				seen[n] = true
			}
		}
	}
	count(p.full...)
	count(p.externalMagazines.loaded, p.externalMagazines.spare)
	for i := range p.local {
		count(p.local[i].loaded, p.local[i].spare)
	}
	if p.made == 0 || len(seen)+out != p.made {
		t.Errorf("%d nodes in magazines and %d out, of %d made", len(seen), out, p.made)
	}
}

// TestNodesSteady checks that no node is new when as many nodes are put back as are taken.
func TestNodesSteady(t *testing.T) {
	p := newNodes(2, func(*testNode) {})
	move := func() { // from worker 0 to worker 1
		for range 10 * magazineNodes {
			p.put(1, p.get(0))
		}
	}
	move()
	if got := testing.AllocsPerRun(10, move); got > 0 {
		t.Errorf("%v allocations a run, want 0", got)
	}
}
