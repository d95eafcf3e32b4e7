//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package child_test

import (
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/child"
)

// TestQueueIsBoundedInBytes checks that lines of any length, also empty ones, take no more memory than the queue has. The
// others are counted.
func TestQueueIsBoundedInBytes(t *testing.T) {
	for name, length := range map[string]int{"empty": 0, "short": 10, "long": 64 << 10} {
		t.Run(name, func(t *testing.T) {
			q := child.NewQueue(child.MaxQueued)
			text := []byte(strings.Repeat("x", length))
			const puts = 20_000
			for range puts {
				q.Put(text, false)
			}
			entries, bytes := q.Lines()
			fit := child.MaxQueued / (length + child.LineBytes)
			if entries != fit+1 || bytes > child.MaxQueued {
				t.Errorf("%d entries of %d bytes, want %d lines and their report", entries, bytes, fit)
			}
			q.Close()
			for range fit {
				if _, _, dropped, ok := q.Take(); dropped != 0 || !ok {
					t.Fatalf("a line is missing: %d dropped", dropped)
				}
			}
			if _, isErr, dropped, ok := q.Take(); dropped != puts-fit || !isErr || !ok {
				t.Errorf("%d lines dropped, want %d", dropped, puts-fit)
			}
			if _, _, _, ok := q.Take(); ok {
				t.Error("a line follows the last one")
			}
			if entries, bytes := q.Lines(); entries != 0 || bytes != 0 {
				t.Errorf("an empty queue has %d entries of %d bytes", entries, bytes)
			}
		})
	}
}

// TestDroppedLinesAreReportedInTheirPlace checks that the report of dropped lines is between the lines before them and
// those after them.
func TestDroppedLinesAreReportedInTheirPlace(t *testing.T) {
	q := child.NewQueue(2 * (child.LineBytes + 1))
	q.Close() // so that a missing line is not waited for
	for _, text := range []string{"a", "b", "c", "d"} {
		q.Put([]byte(text), false)
	}
	take := func(want string, wantDropped int) {
		t.Helper()
		if text, _, dropped, ok := q.Take(); text != want || dropped != wantDropped || !ok {
			t.Errorf("got %q, %d dropped, %t; want %q, %d dropped", text, dropped, ok, want, wantDropped)
		}
	}
	take("a", 0)
	q.Put([]byte("e"), false)
	q.Put([]byte("f"), false)
	take("b", 0)
	take("", 2)
	take("e", 0)
	take("", 1)
	q.Put([]byte("g"), false)
	take("g", 0)
}

// TestQueueCopies checks that a line does not change with the memory that it came from.
func TestQueueCopies(t *testing.T) {
	q := child.NewQueue(child.MaxQueued)
	text := []byte("one")
	q.Put(text, true)
	copy(text, "two")
	if got, isErr, _, _ := q.Take(); got != "one" || !isErr {
		t.Errorf("the line is %q, of the standard error: %t", got, isErr)
	}
}
