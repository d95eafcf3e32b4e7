package pool_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// lanesOf makes n calls one after another. It returns how many calls each lane has got and
// which lane got each call.
func lanesOf(t *testing.T, p *pool.Pool, f *pool.Func[int, int], n int) (counts, order []int) {
	t.Helper()
	before := p.Lanes()
	counts = make([]int, len(before))
	for i := range n {
		if v, err := f.Call(bg, i); v != 2*i || err != nil {
			t.Fatalf("Call = %d, %v", v, err)
		}
		must(t, p.Wait(within(t)))
		for l, info := range p.Lanes() {
			if d := int(info.Accepted-before[l].Accepted) - counts[l]; d > 0 {
				counts[l] += d
				order = append(order, l)
			}
		}
	}
	return counts, order
}

// counting is a balancer that counts how often another one picks each lane.
type counting struct {
	of    pool.Balancer
	picks [3]atomic.Int64
}

func (b *counting) Pick(v pool.View) int {
	n := b.of.Pick(v)
	b.picks[n].Add(1)
	return n
}

// TestRoundRobin checks that the default goes through the lanes in turn. So do the picks of
// RoundRobin for callers that call at the same time. K-067, K-074.
func TestRoundRobin(t *testing.T) {
	counted := &counting{of: pool.RoundRobin()}
	for _, b := range []pool.Balancer{nil, counted} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, pool.Config{Lanes: 3, Balancer: b})
		if _, order := lanesOf(t, p, f, 7); !slices.Equal(order, []int{0, 1, 2, 0, 1, 2, 0}) {
			t.Errorf("the calls go to %v", order)
		}
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for i := range 300 {
					f.Call(bg, i)
				}
			})
		}
		wg.Wait()
		balanced(t, p)
		for i, l := range p.Lanes() {
			if l.Ended <= 3 {
				t.Errorf("lane %d got none of 1200 calls", i)
			}
		}
	}
	first, last := counted.picks[0].Load(), counted.picks[2].Load()
	if n := counted.picks[1].Load(); first < n || n < last || last < first-1 || first+n+last > 1207 {
		t.Errorf("the lanes were picked %d, %d and %d times", first, n, last)
	}
}

// TestFirstFree checks that the balancer picks the first lane without any call. If there is
// none, it picks in turn or at random. No lane gets a call that waits. K-075, K-077.
func TestFirstFree(t *testing.T) {
	for _, random := range []bool{false, true} {
		b := pool.FirstFree()
		if random {
			b = pool.FirstFreeOrRandom(rand.NewPCG(5, 6))
		}
		var h pool.Handlers
		g := newGate()
		gateFn := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
		f := pool.Register(&h, "double", double)
		const permits = 31
		p := newPool(t, &h, pool.Config{Lanes: 3, Concurrency: permits, Balancer: b})
		t.Cleanup(g.release)
		if _, order := lanesOf(t, p, f, 4); !slices.Equal(order, []int{0, 0, 0, 0}) {
			t.Errorf("all lanes are free, and the calls go to %v", order)
		}
		for n := range 3 { // one lane after the other stands
			gateFn.Go(bg, n)
			g.entered(t, 1)
			if !p.Lanes()[n].Inline && p.Lanes()[n].InFlight != 1 {
				t.Errorf("call %d is not on lane %d: %+v", n, n, p.Lanes())
			}
		}
		before := p.Lanes()
		for i := range 30 { // each lane has permits for all of them
			gateFn.Go(bg, i)
			g.entered(t, 1)
		}
		for i, l := range p.Lanes() {
			n := l.Accepted - before[i].Accepted
			if !random && n != 10 || random && (n == 0 || n == 10) {
				t.Errorf("random %v: lane %d got %d of 30 calls while no lane was free", random, i, n)
			}
		}
		for i := range 3*permits - 33 {
			gateFn.Go(bg, i)
		}
		g.entered(t, 3*permits-33)
		before = p.Lanes()
		for i := range 30 {
			gateFn.Go(bg, i)
		}
		for i, l := range p.Lanes() {
			if l.Accepted != before[i].Accepted || l.Accepted-l.Ended != permits {
				t.Errorf("random %v: lane %d got a call while it had no permit: %+v", random, i, l)
			}
		}
		if n := p.Metrics().Waiting; n != 30 {
			t.Errorf("random %v: %d calls wait", random, n)
		}
		g.release()
		must(t, p.Wait(within(t)))
	}
}

// TestFreeLanesAmongMany occupies and leaves lanes in a random order: by handlers that stand, by handlers
// that block and by leases. It also changes the number of lanes and of permits. After each step FirstFree
// finds the first lane that View.Free reports, and the pool counts the permits that no call has.
func TestFreeLanesAmongMany(t *testing.T) {
	const lanes, steps = 200, 1500
	for _, concurrency := range []int{1, 3} {
		rng := newRand(t)(concurrency)
		var h pool.Handlers
		entered := make(chan struct{})
		stand := pool.Register(&h, "stand", func(_ context.Context, end chan struct{}) (int, error) {
			entered <- struct{}{}
			<-end
			return 0, nil
		}, pool.TaskOptions{Remote: true})
		var p *pool.Pool
		blocks := pool.Register(&h, "blocks", func(_ context.Context, end chan struct{}) (int, error) {
			p.Blocking(func() {
				entered <- struct{}{}
				<-end
			})
			return 0, nil
		}, pool.TaskOptions{Remote: true})
		p = newPool(t, &h, pool.Config{Lanes: lanes, Concurrency: concurrency, Balancer: pool.FirstFree()})
		var leaves []func()
		leave := func(i int) {
			leaves[i]()
			leaves[i] = leaves[len(leaves)-1]
			leaves = leaves[:len(leaves)-1]
		}
		t.Cleanup(func() {
			for len(leaves) > 0 {
				leave(0)
			}
		})
		occupy := func(f *pool.Func[chan struct{}, int], lane int) {
			end := make(chan struct{})
			fu := pool.GoAt(bg, p.Lanes()[lane].ID, f, end)
			came(t, "the handler", entered)
			leaves = append(leaves, func() { close(end); result(t, fu) })
		}
		for step := range steps {
			infos := p.Lanes()
			lane := rng.IntN(len(infos))
			if rng.IntN(2) == 0 {
				lane = rng.IntN(min(len(infos), 30)) // so that the first lanes are occupied
			}
			switch l := infos[lane]; rng.IntN(12) {
			case 0, 1, 2, 3, 4:
				if !l.Leased && len(l.Running) < concurrency {
					occupy(stand, lane)
				}
			case 5:
				if !l.Leased && len(l.Running) < concurrency {
					occupy(blocks, lane)
				}
			case 6, 7:
				if !l.Leased && p.View().Free(lane) {
					lease, err := p.AcquireLane(within(t), lane)
					must(t, err)
					leaves = append(leaves, lease.Release)
				}
			case 8:
				if n := rng.IntN(50); n == 0 && concurrency == 1 {
					for len(leaves) > 0 { // a lane that is out is waited for
						leave(0)
					}
					must(t, p.Resize(within(t), lanes/2+rng.IntN(lanes)))
				}
			default:
				if len(leaves) > 0 {
					leave(rng.IntN(len(leaves)))
				}
			}
			v, first, unused := p.View(), -1, int64(0)
			for i, l := range p.Lanes() {
				if first < 0 && v.Free(i) {
					first = i
				}
				if !l.Leased {
					unused += p.UnusedOf(i)
				}
			}
			if got := v.FirstFree(); got != first {
				t.Fatalf("step %d: FirstFree has found lane %d, and lane %d is free", step, got, first)
			}
			for _, n := range []int64{1, unused} {
				if got := p.Unused(n); got < min(n, unused) || got > unused {
					t.Fatalf("step %d: %d of %d unused permits were found, want %d", step, got, unused, n)
				}
			}
		}
	}
}

// TestFirstFreeWithAnInlineLane checks that FirstFree numbers the lanes as the balancer does, with the inline
// lane first or last, and picks the inline lane in its order.
func TestFirstFreeWithAnInlineLane(t *testing.T) {
	const lanes = 12
	for _, position := range []pool.Position{pool.First, pool.Last} {
		g, f, p := gated(t, pool.Config{Lanes: lanes, Inline: &pool.Inline{Position: position, DispatchThreshold: lanes - 2}})
		for i := range lanes + 1 {
			v, want := p.View(), -1
			for n := range v.Len() {
				if want < 0 && v.Free(n) {
					want = n
				}
			}
			if got := v.FirstFree(); got != want {
				t.Errorf("position %v: %d lanes are occupied, and lane %d is the first free one, want %d", position, i, got, want)
			}
			if i < lanes {
				pool.GoAt(bg, pool.LaneID{Lane: i, Generation: 1}, f, i)
				g.entered(t, 1)
			}
		}
		g.release()
		balanced(t, p)
	}
}

// TestGrownLanesHaveUnusedPermits checks that the permits that SetConcurrency adds are found although every
// permit was in use before.
func TestGrownLanesHaveUnusedPermits(t *testing.T) {
	const lanes = 20
	g, f, p := gated(t, pool.Config{Lanes: lanes})
	for i := range lanes {
		f.Go(bg, i)
	}
	g.entered(t, lanes)
	if n := p.Unused(1); n != 0 {
		t.Fatalf("%d permits are unused, and each has a handler", n)
	}
	must(t, p.SetConcurrency(2))
	if n := p.Unused(lanes); n != lanes {
		t.Errorf("%d of %d unused permits were found", n, lanes)
	}
	g.release()
	balanced(t, p)
}

// TestRandom checks that every lane gets its share in an order that the source decides. K-076.
func TestRandom(t *testing.T) {
	var orders [][]int
	for _, source := range []rand.Source{rand.NewPCG(1, 2), rand.NewPCG(1, 2), rand.NewPCG(3, 4), nil} {
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, pool.Config{Lanes: 4, Balancer: pool.Random(source)})
		counts, order := lanesOf(t, p, f, 400)
		orders = append(orders, order)
		chi := 0.0
		for _, n := range counts {
			chi += float64((n-100)*(n-100)) / 100
		}
		if source != nil && chi > 16.27 { // 3 degrees of freedom, p = 0.001; the seeds are fixed
			t.Errorf("chi-square is %.1f: %v", chi, counts)
		}
		if slices.Contains(counts, 0) {
			t.Errorf("a lane gets nothing: %v", counts)
		}
	}
	if !slices.Equal(orders[0], orders[1]) || slices.Equal(orders[0], orders[2]) {
		t.Error("the source does not decide")
	}
}

// scripted is a balancer that checks what it sees and picks what the test says.
type scripted struct {
	pick func(v pool.View) int
}

func (b scripted) Pick(v pool.View) int { return b.pick(v) }

// TestOwnBalancer checks that a balancer sees the lanes as they are. With one lane it is not
// asked. While calls wait it is asked in a pool with an inline lane only. When it picks none,
// its caller learns of it. K-003, K-064, K-067, K-073.
func TestOwnBalancer(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	next := 0
	asked := 0
	var seen pool.View
	b := scripted{func(v pool.View) int { asked++; seen = v; return next }}
	p := newPool(t, &h, pool.Config{Lanes: 2, Balancer: b, Inline: &pool.Inline{Position: pool.First}})
	t.Cleanup(g.release)
	next = 2 // lane 1
	for i := range 40 {
		f.Go(bg, i)
		if i < 2 { // on lane 1, and, as that has no other permit, on lane 0
			g.entered(t, 1)
			if seen.InFlight(2) != 1 || seen.Free(2) || seen.InFlight(1) != i || seen.Free(1) != (i == 0) {
				t.Errorf("after call %d: the lanes have %d and %d calls", i, seen.InFlight(1), seen.InFlight(2))
			}
		}
	}
	if asked != 40 {
		t.Errorf("asked %d times for 40 calls", asked)
	}
	if seen.Len() != 3 || !seen.IsInline(0) || seen.IsInline(1) || seen.IsInline(2) {
		t.Errorf("%d lanes", seen.Len())
	}
	if m := p.Metrics(); seen.Backlog(1)+seen.Backlog(2) != 0 || seen.InFlight(1) != 1 || seen.InFlight(2) != 1 || m.Waiting != 38 {
		t.Errorf("%d calls wait; the lanes have %d + %d and %d + %d", m.Waiting, seen.Backlog(1), seen.InFlight(1), seen.Backlog(2), seen.InFlight(2))
	}
	for _, bad := range []int{-1, 3} {
		next = bad
		if got := panicOf(func() { f.Go(bg, 1) }); got != "pool: Balancer.Pick: no lane has that number" {
			t.Errorf("Pick = %d: panic %v", bad, got)
		}
	}
	if m := p.Metrics(); m.Accepted != 40 {
		t.Errorf("%d calls were accepted", m.Accepted)
	}
	g.release()

	var two pool.Handlers
	g2 := newGate()
	f2 := pool.Register(&two, "gate", g2.enter, pool.TaskOptions{Remote: true})
	next, asked = 1, 0
	p2 := newPool(t, &two, pool.Config{Lanes: 2, Balancer: b})
	t.Cleanup(g2.release)
	l, err := p2.AcquireLane(within(t), 1)
	must(t, err)
	for i := range 8 { // they wait at their lane
		pool.GoOn(bg, l, f2, i)
	}
	g2.entered(t, 1)
	if f2.Go(bg, 8); asked != 1 || seen.Backlog(1) != 7 || seen.InFlight(1) != 1 || seen.Free(1) {
		t.Errorf("asked %d times; lane 1 has %d + %d calls", asked, seen.Backlog(1), seen.InFlight(1))
	}
	if got := g2.entered(t, 1); got[0] != 8 || p2.Lanes()[0].InFlight != 1 {
		t.Errorf("call %d has begun: %+v", got[0], p2.Lanes())
	}
	f2.Go(bg, 9)
	l.Release()
	asked = 0
	for i := range 10 {
		f2.Go(bg, 10+i)
	}
	if m := p2.Metrics(); asked != 0 || m.Waiting != 11 {
		t.Errorf("%d calls wait, and the balancer was asked %d times", m.Waiting, asked)
	}
	g2.release()

	var one pool.Handlers
	double := pool.Register(&one, "double", double)
	newPool(t, &one, pool.Config{Lanes: 1, Balancer: scripted{func(pool.View) int { panic("asked") }}})
	if v, err := double.Call(bg, 2); v != 4 || err != nil {
		t.Errorf("Call = %d, %v", v, err)
	}
}

// TestParseBalancer checks the names of configuration files. They include the older ones.
// K-078.
func TestParseBalancer(t *testing.T) {
	for _, name := range []string{
		"roundRobin", "robinRound", "firstFree", "firstIdle", "random", "randomLane",
		"firstFreeOrRandom", "firstIdleOrRandom",
	} {
		b, err := pool.ParseBalancer(name)
		must(t, err)
		var h pool.Handlers
		f := pool.Register(&h, "double", double)
		p := newPool(t, &h, pool.Config{Lanes: 3, Balancer: b})
		counts, order := lanesOf(t, p, f, 60)
		switch first := strings.HasPrefix(name, "first"); {
		case first && counts[0] != 60, !first && slices.Contains(counts, 0):
			t.Errorf("%s: the lanes got %v calls", name, counts)
		case strings.HasPrefix(name, "ro") && !slices.Equal(order[:4], []int{0, 1, 2, 0}):
			t.Errorf("%s: the calls came to the lanes %v", name, order)
		}
	}
	for _, name := range []string{"", "RoundRobin", "fastest"} {
		if _, err := pool.ParseBalancer(name); err == nil || err.Error() != `pool: unknown balancer "`+name+`"` {
			t.Errorf("ParseBalancer(%q) = %v", name, err)
		}
	}
}

// TestInlinePosition checks that the inline lane is the first or the last of the balancer's
// order. K-065, K-087.
func TestInlinePosition(t *testing.T) {
	for _, pos := range []pool.Position{pool.First, pool.Last} {
		p := newPool(t, nil, pool.Config{Lanes: 2, Inline: &pool.Inline{Position: pos}})
		lanes := p.Lanes()
		at := 2
		if pos == pool.First {
			at = 0
		}
		if len(lanes) != 3 || !lanes[at].Inline || lanes[at].Lane != -1 {
			t.Errorf("position %d: %+v", pos, lanes)
		}
	}
}

// TestInlineThreshold checks that the balancer picks the inline lane only while enough calls
// are in flight or wait. K-089.
func TestInlineThreshold(t *testing.T) {
	var h pool.Handlers
	g := newGate()
	f := pool.Register(&h, "gate", g.enter, pool.TaskOptions{Remote: true})
	b := &fixed{}
	p := newPool(t, &h, pool.Config{Lanes: 1, Balancer: b, Inline: &pool.Inline{DispatchThreshold: 3}})
	t.Cleanup(g.release)
	b.lane.Store(1)
	for i := range 3 {
		f.Go(bg, i)
	}
	if m := p.Metrics(); m.Lanes[0].Accepted != 1 || m.Waiting != 2 || m.Lanes[1].Accepted != 0 {
		t.Errorf("below the threshold: %+v", m)
	}
	f.Go(bg, 3)
	if m := p.Metrics(); m.Lanes[0].Accepted != 1 || m.Waiting != 2 || m.Lanes[1].Accepted != 1 {
		t.Errorf("at the threshold: %+v", m)
	}
	g.release()
	must(t, p.Wait(within(t))) // runs it
	f.Go(bg, 4)
	must(t, p.Wait(within(t)))
	if l := p.Lanes(); l[0].Ended != 4 || l[1].Ended != 1 {
		t.Errorf("below it again: %+v", l)
	}
	balanced(t, p)
}

// TestInlineLane checks that inline calls run on goroutines that wait and in RunInline. They
// never run inside Go. Values keep their identity. No signal says that a call was aborted.
// K-083, K-084, K-085, K-088, K-090.
func TestInlineLane(t *testing.T) {
	var h pool.Handlers
	type box struct{ n int }
	ran := 0
	var where []string
	f := pool.Register(&h, "same", func(ctx context.Context, b *box) (*box, error) {
		ran++
		if pool.AbortSignalOf(ctx).Aborted() {
			t.Error("the signal says that the call was aborted")
		}
		buf := make([]byte, 1<<16)
		where = append(where, string(buf[:runtime.Stack(buf, false)]))
		return b, nil
	}, pool.TaskOptions{Abortable: true})
	p := newPool(t, &h, pool.Config{Lanes: pool.NoLanes, Inline: &pool.Inline{BatchSize: 3}, AbortCapacity: 1})
	in := &box{1}
	var fs []*pool.Future[*box]
	for range 10 {
		fs = append(fs, f.Go(bg, in))
	}
	if ran != 0 {
		t.Fatal("Go ran a call")
	}
	if n := p.RunInline(2); n != 2 || ran != 2 || !settled(fs[1]) || settled(fs[2]) {
		t.Fatalf("RunInline = %d, and %d have run", n, ran)
	}
	if out, err := fs[2].Wait(bg); out != in || err != nil || ran != 5 { // a batch
		t.Fatalf("Wait = %p, %v, and %d have run", out, err, ran)
	}
	if out, err := f.Call(bg, in); out != in || err != nil || ran != 11 {
		t.Fatalf("Call = %p, %v, and %d have run", out, err, ran)
	}
	for _, stack := range where {
		if !strings.Contains(stack, "TestInlineLane(") { // the handler is another function of the test
			t.Errorf("a call ran elsewhere: %s", stack)
		}
	}
	fu := f.Go(bg, in)
	fu.Abort(errWhy)
	_, err := fu.Wait(bg)
	mustBe(t, err, errWhy, pool.ErrNotStarted)
	p.Pause()
	f.Go(bg, in)
	if n := p.RunInline(10); n != 0 {
		t.Errorf("a paused pool ran %d", n)
	}
	p.Resume()
	must(t, p.Wait(bg))
	if n := p.RunInline(10); n != 0 || ran != 12 {
		t.Errorf("RunInline = %d, and %d have run", n, ran)
	}
	if st := p.Scheduler().Stats(); st.Spawns != 0 || st.Executed != 0 {
		t.Errorf("the scheduler has worked: %+v", st)
	}
	none := newPool(t, nil, pool.Config{Lanes: 1})
	if n := none.RunInline(5); n != 0 {
		t.Errorf("a pool without an inline lane ran %d", n)
	}
	balanced(t, p)
}

// TestInlineAborted checks that Abort settles the future while the handler of an inline call
// runs. No signal tells the handler. K-090.
func TestInlineAborted(t *testing.T) {
	var h pool.Handlers
	in, out := make(chan struct{}), make(chan struct{})
	f := pool.Register(&h, "stands", func(ctx context.Context, n int) (int, error) {
		s := pool.AbortSignalOf(ctx)
		in <- struct{}{}
		<-out
		if s.Aborted() {
			t.Error("the signal says that the call was aborted")
		}
		return n, nil
	}, pool.TaskOptions{Abortable: true})
	p := newPool(t, &h, inlineOnly())
	fu := f.Go(bg, 1)
	done := make(chan int)
	go func() { done <- p.RunInline(1) }()
	came(t, "the handler", in)
	fu.Abort(errWhy)
	_, err := wait(t, fu)
	mustBe(t, err, errWhy)
	mustNotBe(t, err, pool.ErrNotStarted)
	close(out)
	if n := came(t, "RunInline", done); n != 1 {
		t.Errorf("RunInline = %d", n)
	}
	if m := p.Metrics(); m.StaleResponses != 1 {
		t.Errorf("Metrics = %+v, want one stale response", m)
	}
	balanced(t, p)
}
