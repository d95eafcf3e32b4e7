package self_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
	"github.com/lanewright/lanewright/internal/self"
)

// stack returns the frames of the calling goroutine from the innermost to the outermost
// one.
func stack() (frames []*self.Frame) {
	for f := self.Top(); f != nil; f = f.Up() {
		frames = append(frames, f)
	}
	return frames
}

// An actor is a goroutine that runs functions until its channel is closed.
type actor chan func()

func newActor(all *sync.WaitGroup) actor {
	a := make(actor)
	all.Go(func() {
		for f := range a {
			f()
		}
	})
	return a
}

// do runs f on the goroutine of a.
func (a actor) do(f func()) {
	done := make(chan struct{})
	a <- func() {
		defer close(done)
		f()
	}
	<-done
}

// TestFrames checks that the frames of each of three goroutines behave as a slice from
// which Leave takes any element.
func TestFrames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all sync.WaitGroup
		var actors [3]actor
		var model [3][]*self.Frame // the innermost frame first
		for i := range actors {
			actors[i] = newActor(&all)
		}
		defer func() {
			for i, a := range actors {
				a.do(func() {
					for _, f := range model[i] {
						f.Leave()
					}
				})
				close(a)
			}
			all.Wait()
		}()
		var left []*self.Frame // they are entered again
		t.Repeat(map[string]func(*rapid.T){
			"enter": func(t *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(t, "goroutine")
				f := new(self.Frame)
				if n := len(left); n > 0 && rapid.Bool().Draw(t, "again") {
					f, left = left[n-1], left[:n-1]
				}
				f.Owner = f
				actors[i].do(f.Enter)
				model[i] = slices.Insert(model[i], 0, f)
			},
			"leave": func(t *rapid.T) {
				i := rapid.IntRange(0, 2).Draw(t, "goroutine")
				if len(model[i]) == 0 {
					t.Skip("the goroutine has no frame")
				}
				at := rapid.IntRange(0, len(model[i])-1).Draw(t, "frame")
				f := model[i][at]
				actors[i].do(f.Leave)
				model[i] = slices.Delete(model[i], at, at+1)
				left = append(left, f)
			},
			"": func(t *rapid.T) {
				for i, a := range actors {
					var got []*self.Frame
					a.do(func() { got = stack() })
					if !slices.Equal(got, model[i]) {
						t.Fatalf("goroutine %d: got %v, want %v", i, got, model[i])
					}
					for _, f := range got {
						if f.Owner != any(f) {
							t.Fatalf("goroutine %d: a frame has the owner %v", i, f.Owner)
						}
					}
				}
			},
		})
	})
}

// TestLeaveInAnyOrder lets a goroutine leave the innermost frame, one in the middle, and
// the outermost one. The goroutine finds the other frames.
func TestLeaveInAnyOrder(t *testing.T) {
	var f [4]self.Frame
	for i := range f {
		f[i].Enter()
	}
	want := []*self.Frame{&f[3], &f[2], &f[1], &f[0]}
	for _, leave := range []*self.Frame{&f[3], &f[1], &f[0], &f[2]} {
		if got := stack(); !slices.Equal(got, want) {
			t.Errorf("got the frames %v, want %v", got, want)
		}
		leave.Leave()
		want = slices.DeleteFunc(want, func(f *self.Frame) bool { return f == leave })
	}
	if got := stack(); len(got) != 0 {
		t.Errorf("got the frames %v, want none", got)
	}
}

// TestFrameIsElsewhere: a frame is elsewhere for each goroutine but the one that has entered it,
// with and without frames of its own, until that one has left it.
func TestFrameIsElsewhere(t *testing.T) {
	var all sync.WaitGroup
	inside, outside := newActor(&all), newActor(&all)
	defer all.Wait()
	defer close(inside)
	defer close(outside)
	var f, other self.Frame
	inside.do(other.Enter)
	defer inside.do(other.Leave)
	for _, entered := range []bool{false, true, false} {
		if entered {
			f.Enter()
		}
		for name, do := range map[string]func(func()){
			"the goroutine of the frame":    func(f func()) { f() },
			"a goroutine with a frame":      inside.do,
			"a goroutine without any frame": outside.do,
		} {
			var got bool
			do(func() { got = f.IsElsewhere() })
			if want := entered && name != "the goroutine of the frame"; got != want {
				t.Errorf("entered %t: for %s IsElsewhere = %t", entered, name, got)
			}
		}
		if entered {
			f.Leave()
		}
	}
}

var seedFlag = flag.Uint64("stress.seed", 0, "seed of the stress tests; 0 picks one")

// TestGoroutinesFindTheirOwnFrames checks that goroutines that enter and leave at the same
// time find their own frames and no others. A goroutine may have the identity of an ended
// one. It then starts without frames, whether the ended one has returned, panicked or
// called Goexit.
func TestGoroutinesFindTheirOwnFrames(t *testing.T) {
	seed := *seedFlag
	if seed == 0 {
		seed = rand.Uint64() | 1
	}
	t.Logf("replay with -run '^%s$' -stress.seed=%d", t.Name(), seed)
	lines, generations := 20, 100
	if testing.Short() {
		generations = 10
	}
	self.Process.Clear()
	var all sync.WaitGroup
	var life func(rnd *rand.Rand, left int)
	life = func(rnd *rand.Rand, left int) {
		// The goroutine starts its successor when it has left its frames.
		defer func() {
			recover()
			if len(stack()) != 0 {
				t.Error("a goroutine ends inside a frame")
			}
			if left > 0 {
				all.Go(func() { life(rnd, left-1) })
			}
		}()
		if len(stack()) != 0 {
			t.Error("a goroutine starts inside a frame")
		}
		for range rnd.IntN(20) {
			nested(t, rnd, nil)
		}
		switch rnd.IntN(4) {
		case 0:
			unwind(rnd, 3, runtime.Goexit)
		case 1:
			unwind(rnd, 3, func() { panic("broken") })
		}
	}
	for i := range lines {
		all.Go(func() { life(rand.New(rand.NewPCG(seed, uint64(i))), generations) })
	}
	all.Wait()
	if records := self.Process.Records(); sum(records) != 0 {
		t.Errorf("%v records are in use by goroutines that have ended", records)
	}
}

// nested enters a few frames above those of below. It checks the stack on each level.
func nested(t *testing.T, rnd *rand.Rand, below []*self.Frame) {
	t.Helper()
	var f self.Frame
	f.Enter()
	frames := slices.Insert(slices.Clone(below), 0, &f)
	if !slices.Equal(stack(), frames) {
		t.Errorf("got the frames %v, want %v", stack(), frames)
	}
	if rnd.IntN(4) == 0 {
		runtime.Gosched()
	}
	if len(frames) < 4 && rnd.IntN(2) == 0 {
		nested(t, rnd, frames)
	}
	f.Leave()
	if !slices.Equal(stack(), below) {
		t.Errorf("got the frames %v, want %v", stack(), below)
	}
}

// unwind enters depth frames and calls end, which does not return.
func unwind(rnd *rand.Rand, depth int, end func()) {
	var f self.Frame
	f.Enter()
	defer f.Leave()
	if depth > 0 {
		unwind(rnd, depth-1, end)
	}
	end()
}

// TestMisuse checks that a frame that is entered twice panics. A frame that is left without
// Enter panics too.
func TestMisuse(t *testing.T) {
	var f self.Frame
	mustPanic(t, "self: Frame.Leave: the frame is not entered", f.Leave)
	f.Enter()
	mustPanic(t, "self: Frame.Enter: the frame is entered already", f.Enter)
	f.Leave()
	mustPanic(t, "self: Frame.Leave: the frame is not entered", f.Leave)
	if self.Top() != nil {
		t.Error("the goroutine has a frame after its Leave")
	}
}

// TestEndWithoutLeave checks the assertion for a goroutine that has ended inside a frame.
// Another goroutine that has its identity panics when it looks for its frames, enters, or
// leaves.
func TestEndWithoutLeave(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("needs assertions")
	}
	const want = "invariant violated: self: a frame is used by another goroutine, or a goroutine with this identity has ended without Leave"
	var f self.Frame
	var all sync.WaitGroup
	all.Go(func() {
		f.Enter()
		self.Process.Find(park.Self()).Release()
	})
	all.Wait()
	// The calling goroutine gets the record that the other one would have left.
	r := self.Process.Claim(park.Self())
	r.SetTop(&f)
	mustPanic(t, want, func() { self.Top() })
	mustPanic(t, want, new(self.Frame).Enter)
	mustPanic(t, want, f.Leave)
	r.Release()
}

// TestNoAllocations checks that Top, Enter and Leave do not allocate once the table and the
// frame were used.
func TestNoAllocations(t *testing.T) {
	var f, g self.Frame
	if n := testing.AllocsPerRun(100, func() {
		f.Enter()
		g.Enter()
		if self.Top() != &g || g.Up() != &f {
			t.Error("the frames are not those that were entered")
		}
		g.Leave()
		f.Leave()
		if self.Top() != nil {
			t.Error("a frame is left")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// mustPanic fails the test unless f panics with the value want.
func mustPanic(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if got := recover(); got != want {
			t.Errorf("panic is %v, want %q", got, want)
		}
	}()
	f()
}
