package park_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/internal/park"
)

func TestSemaTokens(t *testing.T) {
	var s park.Sema
	s.Init(2)
	if s.TryWait() {
		t.Error("a new semaphore has a token")
	}
	for range 2 {
		if !s.Post() {
			t.Error("a semaphore of two does not take two tokens")
		}
	}
	if s.Post() {
		t.Error("a full semaphore took a token")
	}
	s.Wait()
	if !s.TryWait() || s.TryWait() {
		t.Error("after two posts, not exactly two waits return")
	}
	s.Post()
	s.Init(1)
	if s.TryWait() {
		t.Error("Init did not remove a token")
	}
}

// TestSemaManyWaiters checks that each token is taken exactly once with many waiters.
func TestSemaManyWaiters(t *testing.T) {
	const waiters, rounds = 4, 500
	var s park.Sema
	s.Init(waiters)
	var mu sync.Mutex
	taken := 0
	var wg sync.WaitGroup
	for range waiters {
		wg.Go(func() {
			for range rounds {
				s.Wait()
				mu.Lock()
				taken++
				mu.Unlock()
			}
		})
	}
	for posted := 0; posted < waiters*rounds; {
		if s.Post() {
			posted++
		} else {
			park.Yield()
		}
	}
	wg.Wait()
	if taken != waiters*rounds || s.TryWait() {
		t.Errorf("took %d tokens, want %d", taken, waiters*rounds)
	}
}

// TestSemaWakes checks that a Post wakes a blocked goroutine in each kind of wait. The
// goroutine gets the token.
func TestSemaWakes(t *testing.T) {
	waits := map[string]func(s *park.Sema) bool{
		"Wait":         func(s *park.Sema) bool { s.Wait(); return true },
		"WaitDone":     func(s *park.Sema) bool { return s.WaitDone(make(chan struct{})) },
		"WaitDone nil": func(s *park.Sema) bool { return s.WaitDone(nil) },
		"WaitFor":      func(s *park.Sema) bool { return s.WaitFor(time.Hour) },
	}
	for name, wait := range waits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s park.Sema
				s.Init(1)
				got := make(chan bool, 1)
				go func() { got <- wait(&s) }()
				synctest.Wait() // the waiter is blocked
				if len(got) != 0 {
					t.Fatal("the waiter did not block")
				}
				if !s.Post() {
					t.Error("Post dropped the token of a waiter")
				}
				if !<-got {
					t.Error("the waiter returned without the token")
				}
			})
		})
	}
}

// TestSemaDone checks that a WaitDone that returns because done is closed takes no token
// later.
func TestSemaDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s park.Sema
		s.Init(1)
		done := make(chan struct{})
		got := make(chan bool, 1)
		go func() { got <- s.WaitDone(done) }()
		synctest.Wait()
		close(done)
		if <-got {
			t.Error("WaitDone took a token without a Post")
		}
		if !s.Post() || !s.TryWait() {
			t.Error("a WaitDone that had returned took a token")
		}
	})
}

// TestSemaTimeout checks that WaitFor returns false exactly after its time. It returns at
// once when the time is zero or negative.
func TestSemaTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s park.Sema
		s.Init(1)
		start := time.Now()
		if s.WaitFor(time.Minute) {
			t.Error("WaitFor took a token without a Post")
		}
		if d := time.Since(start); d != time.Minute {
			t.Errorf("WaitFor(time.Minute) returned after %v", d)
		}
		if s.WaitFor(0) || s.WaitFor(-time.Minute) || time.Since(start) != time.Minute {
			t.Error("WaitFor blocked for a time of zero or less, or took a token without a Post")
		}
		s.Post()
		if !s.WaitFor(0) {
			t.Error("WaitFor(0) did not take the token")
		}
	})
}

// TestSemaMisuse checks that a use before Init panics with the name of the method. A
// capacity below 1 does so too.
func TestSemaMisuse(t *testing.T) {
	for name, f := range map[string]func(s *park.Sema){
		"Init":     func(s *park.Sema) { s.Init(0) },
		"Post":     func(s *park.Sema) { s.Post() },
		"Wait":     func(s *park.Sema) { s.Wait() },
		"WaitDone": func(s *park.Sema) { s.WaitDone(nil) },
		"WaitFor":  func(s *park.Sema) { s.WaitFor(time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if v, ok := recover().(string); !ok || !strings.Contains(v, "Sema."+name) {
					t.Errorf("got the panic %q", v)
				}
			}()
			f(new(park.Sema))
		})
	}
}

// TestSelf checks that goroutines that live at the same time have different identities. An
// identity does not change when the stack moves.
func TestSelf(t *testing.T) {
	const goroutines = 100
	ids := make([]uintptr, goroutines)
	var started, wg sync.WaitGroup
	started.Add(goroutines)
	for i := range goroutines {
		wg.Go(func() {
			ids[i] = park.Self()
			started.Done()
			started.Wait() // all goroutines are alive
			for range 10 {
				runtime.Gosched()
				if grow(50); park.Self() != ids[i] {
					t.Error("the identity of a goroutine has changed")
				}
			}
		})
	}
	wg.Wait()
	seen := map[uintptr]bool{park.Self(): true}
	for _, id := range ids {
		if id == 0 || seen[id] {
			t.Fatalf("the identity %#x is 0 or that of two goroutines", id)
		}
		seen[id] = true
	}
}

// TestNumber checks that goroutines have different numbers even if one ends before the next
// starts.
func TestNumber(t *testing.T) {
	var buf [64]byte
	seen := map[uintptr]bool{park.Number(&buf): true}
	for range 100 {
		id := make(chan uintptr)
		go func() {
			var buf [64]byte
			id <- park.Number(&buf)
		}()
		if n := <-id; n == 0 || seen[n] {
			t.Fatalf("the number %d is 0 or that of two goroutines", n)
		} else {
			seen[n] = true
		}
	}
	if !seen[park.Number(&buf)] {
		t.Error("the number of a goroutine has changed")
	}
}

// grow uses so much stack that the runtime moves the stack of the goroutine.
func grow(depth int) byte {
	var frame [1024]byte
	if depth > 0 {
		frame[depth] = grow(depth - 1)
	}
	return frame[depth]
}

func TestParseGoroutine(t *testing.T) {
	for _, tc := range []struct {
		stack string
		id    uintptr
		ok    bool
	}{
		{"goroutine 1 [running]:\nmain.main()", 1, true},
		{"goroutine 4294967295 [", 4294967295, true},
		{"goroutine 17", 17, false},
		{"goroutine 0 [", 0, false},
		{"goroutine  [", 0, false},
		{"goroutine", 0, false},
		{"thread 17 [", 0, false},
		{"", 0, false},
	} {
		if id, ok := park.ParseGoroutine([]byte(tc.stack)); id != tc.id || ok != tc.ok {
			t.Errorf("%q: got %d, %t, want %d, %t", tc.stack, id, ok, tc.id, tc.ok)
		}
	}
}

func BenchmarkSelf(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		park.Self()
	}
}

func BenchmarkSema(b *testing.B) {
	b.Run("op=post+wait", func(b *testing.B) {
		b.ReportAllocs()
		var s park.Sema
		s.Init(1)
		for b.Loop() {
			s.Post()
			s.Wait()
		}
	})
	b.Run("op=handover", func(b *testing.B) {
		b.ReportAllocs()
		var ping, pong park.Sema
		ping.Init(1)
		pong.Init(1)
		done := make(chan struct{})
		go func() {
			for ping.WaitDone(done) {
				pong.Post()
			}
		}()
		for b.Loop() {
			ping.Post()
			pong.Wait()
		}
		close(done)
	})
}
