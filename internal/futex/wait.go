package futex

import (
	"math"
	"time"

	"github.com/lanewright/lanewright/internal/atomix"
)

// MaxWords is the number of words that one [Set] has at most. The kernel sets this limit.
const MaxWords = 128

// Outcome is the reason for which a wait has ended.
type Outcome uint8

// The outcomes.
const (
	Changed  Outcome = iota // a word did not have the expected value, and the call did not block
	Woken                   // a [Wake] has ended the wait, or the kernel has ended it without one
	TimedOut                // the deadline has passed
)

// String returns the name of the outcome.
func (o Outcome) String() string {
	switch o {
	case Changed:
		return "changed"
	case Woken:
		return "woken"
	case TimedOut:
		return "timed out"
	}
	return "unknown outcome"
}

// Deadline returns the time d from now, for a wait. A sum beyond the range is the largest
// time. Safe for concurrent use.
func Deadline(d time.Duration) int64 {
	now := Now()
	if int64(d) > math.MaxInt64-now {
		return math.MaxInt64
	}
	return max(now+int64(d), 1) // 0 is no deadline
}

// Wait blocks the calling goroutine and its thread until a [Wake] on word by any process.
// It returns at once when the value of word is not seen. The comparison and the beginning
// of the wait are one step for every Wake, so a Wake that follows a change of word is not
// lost. until is a time of [Now]; 0 is no deadline. Wait may return Woken without a Wake, so
// the caller looks at its condition again. A signal does not end a wait.
//
// The memory of word may be a Go variable, or memory that processes share. Read access is
// enough. The error names the call; it matches [errors.ErrUnsupported] on systems other than
// Linux. Safe for concurrent use.
func Wait(word *atomix.Uint32, seen uint32, until int64) (Outcome, error) {
	return wait(word, seen, until)
}

// Wake ends the waits of all threads of all processes on word, and returns their number.
// The caller changes the word first. Wake never blocks. The error names the call; it matches
// [errors.ErrUnsupported] on systems other than Linux. Safe for concurrent use.
func Wake(word *atomix.Uint32) (woken int, err error) { return wake(word) }

// HasWaitv reports whether the kernel has futex_waitv, and so whether [Set.Wait] and
// [Dispatcher.Add] work. It asks the kernel in the first call. Linux has futex_waitv since 5.16;
// a sandbox or an emulator may refuse it. Safe for concurrent use.
func HasWaitv() bool { return hasWaitv() }

// Set is a list of words with their expected values. One thread waits on all of them at
// once. The zero Set is empty. It is for one goroutine at a time.
type Set struct {
	words []*atomix.Uint32 // keeps the words alive, because the kernel's array has their addresses only
	args  []waitv          // one for each word
}

// Reset removes all words.
func (s *Set) Reset() {
	clear(s.words)
	s.words, s.args = s.words[:0], s.args[:0]
}

// Len returns the number of words.
func (s *Set) Len() int { return len(s.words) }

// Add appends a word with its expected value, and returns its index. It panics when the set
// has [MaxWords] words.
func (s *Set) Add(word *atomix.Uint32, seen uint32) int {
	if len(s.words) == MaxWords {
		panic("futex: Set.Add: the set is full")
	}
	s.words = append(s.words, word)
	s.args = append(s.args, argument(word, seen))
	return len(s.words) - 1
}

// Word returns the word at an index.
func (s *Set) Word(i int) *atomix.Uint32 { return s.words[i] }

// Seen returns the expected value of the word at an index.
func (s *Set) Seen(i int) uint32 { return uint32(s.args[i].val) }

// Expect changes the expected value of the word at an index.
func (s *Set) Expect(i int, seen uint32) { s.args[i].val = uint64(seen) }

// Wait is the [Wait] for all words of the set at once. It returns Changed when any word does
// not have its expected value. It returns the index of a word on which a Wake has ended the
// wait, and -1 with any other outcome. Other words may have been woken at the same time, so
// the caller looks at all of them. It panics when the set is empty. The error matches
// [errors.ErrUnsupported] when [HasWaitv] returns false.
func (s *Set) Wait(until int64) (index int, o Outcome, err error) {
	if len(s.words) == 0 {
		panic("futex: Set.Wait: the set is empty")
	}
	return s.wait(until)
}
