package interleave_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// eachBackend calls f for each backend.
func eachBackend(t *testing.T, f func(t *testing.T, o interleave.Options)) {
	t.Helper()
	for _, b := range []interleave.Backend{interleave.Coroutines, interleave.Baton} {
		t.Run(b.String(), func(t *testing.T) {
			f(t, interleave.Options{Preemptions: interleave.All, Backend: b})
		})
	}
}

// wantFailure fails the test unless the exploration failed with this kind and a
// message that contains text.
func wantFailure(t *testing.T, r interleave.Result, kind interleave.Kind, text string) {
	t.Helper()
	switch {
	case r.Failure == nil:
		t.Fatalf("got no failure in %d executions, want a %s", r.Executions, kind)
	case r.Failure.Kind != kind || !strings.Contains(r.Failure.Message, text):
		t.Fatalf("got %s: %v\nwant %s with %q", r.Failure.Kind, r.Failure, kind, text)
	}
}

// wantComplete fails the test unless the exploration is complete without a
// failure.
func wantComplete(t *testing.T, r interleave.Result) {
	t.Helper()
	if r.Failure != nil {
		t.Fatal(r.Failure)
	}
	if !r.Complete {
		t.Fatalf("not complete after %d executions", r.Executions)
	}
}

// A randomProgram is generated from a seed. Its threads are daemons, so that no
// execution is a deadlock. Its body records the outcome of each execution.
type randomProgram struct {
	threads [][]randomOp
	post    int // tokens at the start
}

type randomOp struct{ kind, obj, arg int }

// generate returns the random program of a seed.
func generate(seed uint64) randomProgram {
	r := rand.New(rand.NewPCG(seed, 7))
	p := randomProgram{post: r.IntN(2)}
	for range 2 + r.IntN(2) {
		var ops []randomOp
		for range 2 + r.IntN(2) {
			ops = append(ops, randomOp{r.IntN(10), r.IntN(2), 1 + r.IntN(3)})
		}
		p.threads = append(p.threads, ops)
	}
	return p
}

func (p randomProgram) body(seen map[string]int) func(m *interleave.M) {
	return func(m *interleave.M) {
		var words [2]interleave.Int32
		var semas [2]interleave.Sema
		logs := make([]string, len(p.threads))
		children := make([][3]int32, len(p.threads)) // the threads share words and semas only
		for i := range semas {
			semas[i].Init(2)
			if i < p.post {
				semas[i].Post()
			}
		}
		for i, ops := range p.threads {
			m.GoDaemon(fmt.Sprint("t", i), func() {
				for j, op := range ops {
					w, s, v := &words[op.obj], &semas[op.obj], int32(op.arg)
					result := any("")
					switch op.kind {
					case 0, 1:
						result = w.Load()
					case 2:
						w.Store(v)
					case 3:
						result = w.CompareAndSwap(0, v)
					case 4:
						result = w.Add(v)
					case 5:
						result = s.Post()
					case 6:
						result = s.TryWait()
					case 7:
						s.Wait()
					case 8:
						if interleave.Choose(2) == 1 {
							result = w.Swap(v)
						}
					case 9:
						interleave.GoDaemon("child", func() { children[i][j] = w.Add(v) })
					}
					logs[i] += fmt.Sprint(result, ";")
				}
				logs[i] += "end"
			})
		}
		m.Final(func() {
			seen[fmt.Sprint(logs, children, words[0].Load(), words[1].Load(), m.Crashed())]++
		})
	}
}

func mustPanic(t *testing.T, text string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), text) {
			t.Errorf("got the panic %v, want one with %q", v, text)
		}
	}()
	f()
}

// A raceCase is a program of two daemons on a state of its own, and whether two of its
// accesses to a Cell race.
type raceCase[S any] struct {
	name string
	a, b func(s *S)
	race bool
}

// checkRaces explores each program with each of the options. start prepares its state.
func checkRaces[S any](t *testing.T, tests []raceCase[S], options []interleave.Options, start func(s *S)) {
	t.Helper()
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			for _, o := range options {
				r := interleave.Explore(o, func(m *interleave.M) {
					s := new(S)
					start(s)
					m.GoDaemon("a", func() { tc.a(s) })
					m.GoDaemon("b", func() { tc.b(s) })
				})
				if tc.race {
					wantFailure(t, r, interleave.Race, "data race on Cell#")
				} else {
					wantComplete(t, r)
				}
			}
		})
	}
}
