package fuzz_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/interleave"
)

// entry matches one entry of a schedule. It is some steps of a thread, its crash, or a
// choice.
var entry = regexp.MustCompile(`^(?:(\d+)(?:x\+?(\d+))?|(\d+)k|v(\d+))$`)

const (
	threads  = 64      // the most threads of a program
	choices  = 1 << 29 // the most alternatives of a Choose
	schedule = 1 << 24 // the most entries, with counts expanded
)

// badEntry returns the first entry of a schedule that does not have the documented form
// or contains a number out of range.
func badEntry(text string) (bad string, found bool) {
	if text == "-" {
		return "", false
	}
	n := 0
	for part := range strings.SplitSeq(text, ",") {
		m := entry.FindStringSubmatch(part)
		if m == nil {
			return part, true
		}
		thread, count, value := number(m[1]+m[3]), 1, number(m[4])
		if m[2] != "" {
			count = number(m[2])
		}
		if thread >= threads || value >= choices || count < 1 || count > schedule-n {
			return part, true
		}
		n += count
	}
	return "", false
}

// number returns the number of the digits. It is 0 for no digits. It is the highest
// value for larger numbers.
func number(digits string) int {
	n, err := strconv.ParseUint("0"+digits, 10, 30)
	if err != nil {
		return 1<<30 - 1
	}
	return int(n)
}

// lostUpdate is a program with a race that some schedules reveal. Its threads choose,
// crash and take many steps.
func lostUpdate(m *interleave.M) {
	var x, y interleave.Int32
	for _, name := range []string{"a", "b"} {
		m.Go(name, func() {
			n := x.Load()
			y.Add(int32(interleave.Choose(3) + interleave.Choose(3)))
			x.Store(n + 1)
		})
	}
	m.Final(func() {
		if n := x.Load(); n != 2 && !m.Crashed() {
			m.Fatalf("x = %d, y = %d", n, y.Load())
		}
	})
}

// FuzzReplay passes any text to Options.Replay. A text that is no schedule is refused
// with the wrong entry in the message. A schedule runs, or it does not fit the program.
// The schedule of a failure fails in the same way again.
func FuzzReplay(f *testing.F) {
	f.Add("0,v1,v1,0x2,1,v0,v2,1x2", false, false)
	f.Add("0,v2,v2,1,v0,v0,0x2,1x2", false, true) // the lost update
	f.Add("0,v0,v1,0,1k,0", true, false)
	f.Add("-", false, false)
	f.Add("0x16777217", false, false)
	f.Add("63x1,64,v536870912", false, true)
	f.Add("0,,1x0,k,v,x", true, true)
	f.Add(" 0x-1", false, false)
	f.Fuzz(func(t *testing.T, text string, crash, baton bool) {
		if text == "" {
			t.Skip("an empty text means no replay")
		}
		o := interleave.Options{Replay: text, MaxSteps: 1000}
		if crash {
			o.Crash = "b"
		}
		if baton {
			o.Backend = interleave.Baton
		}
		r := interleave.Explore(o, lostUpdate)
		bad, isBad := badEntry(text)
		switch {
		case r.Failure == nil:
			if isBad || r.Executions != 1 {
				t.Fatalf("%q ran %d executions; its entry %q is wrong: %v", text, r.Executions, bad, isBad)
			}
		case isBad:
			m := r.Failure.Message
			if r.Failure.Kind != interleave.Misuse || !strings.HasPrefix(m, "Options.Replay: "+strconv.Quote(bad)) {
				t.Fatalf("%q: got %v, %s; want a misuse that names %q", text, r.Failure.Kind, m, bad)
			}
		case r.Failure.Kind == interleave.Misuse:
			if m := r.Failure.Message; !strings.HasPrefix(m, "the schedule does not fit the program at its entry ") {
				t.Fatalf("%q: %s", text, m)
			}
		case r.Failure.Kind == interleave.Failed:
			o.Replay = r.Failure.Schedule
			again := interleave.Explore(o, lostUpdate).Failure
			if again == nil || *again != *r.Failure {
				t.Fatalf("%q failed as\n%v\nand its schedule as\n%v", text, r.Failure, again)
			}
		default:
			t.Fatalf("%q: %v", text, r.Failure)
		}
	})
}
