package interleave

import (
	"fmt"
	"strconv"
	"strings"
)

// A choice is one entry of a schedule: the thread that takes the next step, the
// thread that crashes, or the result of Choose. The upper two bits are the kind.
type choice uint32

const (
	choiceRun   choice = 0 << 30 // the thread takes a step
	choiceCrash choice = 1 << 30 // the thread stops for ever
	choiceValue choice = 2 << 30 // Choose returns the value

	choiceKind  choice = 3 << 30
	choiceArg   choice = 1<<30 - 1
	maxSchedule        = 1 << 24 // chosen: the maximum of choices that parseSchedule accepts
)

func (c choice) kind() choice { return c & choiceKind }
func (c choice) arg() int     { return int(c & choiceArg) }

// formatSchedule returns a schedule in the form of [Options.Replay]:
//
//	3     thread 3 takes a step
//	3x12  thread 3 takes 12 steps
//	3k    thread 3 crashes
//	v2    Choose returns 2
//
// Commas separate the entries, and the empty schedule is -. Threads are numbered
// from 0 in the order of their creation. The text needs no quotes in a shell.
func formatSchedule(s []choice) string {
	if len(s) == 0 {
		return "-"
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		if s[i].kind() != choiceRun {
			n = 1
		}
		if i > 0 {
			b.WriteByte(',')
		}
		if s[i].kind() == choiceValue {
			b.WriteByte('v')
		}
		b.WriteString(strconv.Itoa(s[i].arg()))
		if s[i].kind() == choiceCrash {
			b.WriteByte('k')
		}
		if n > 1 {
			b.WriteByte('x')
			b.WriteString(strconv.Itoa(n))
		}
		i += n
	}
	return b.String()
}

// parseSchedule parses the result of formatSchedule.
func parseSchedule(text string) ([]choice, error) {
	var s []choice
	if text == "-" {
		return s, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		kind, rest, repeat := choiceRun, part, 1
		if after, ok := strings.CutPrefix(rest, "v"); ok {
			kind, rest = choiceValue, after
		} else if before, ok := strings.CutSuffix(rest, "k"); ok {
			kind, rest = choiceCrash, before
		} else if before, after, ok := strings.Cut(rest, "x"); ok {
			n, err := strconv.Atoi(after)
			if err != nil || n < 1 || n > maxSchedule-len(s) {
				return nil, fmt.Errorf("Options.Replay: %q has no valid count", part)
			}
			rest, repeat = before, n
		}
		arg, err := strconv.ParseUint(rest, 10, 29)
		if err != nil || kind != choiceValue && arg >= maxThreads {
			return nil, fmt.Errorf("Options.Replay: %q is not a choice", part)
		}
		for range repeat {
			s = append(s, kind|choice(arg))
		}
	}
	return s, nil
}
