//go:build interleave

package program_test

import (
	"testing"

	"pgregory.net/rapid"
)

// TestDrawnPrograms draws programs on a scheduler, and a schedule for each.
func TestDrawnPrograms(t *testing.T) {
	check(t, func(t *rapid.T) drawn { return drawProgram(t) })
}
