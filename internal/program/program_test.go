//go:build interleave

package program_test

import (
	"testing"

	"pgregory.net/rapid"
)

// TestGeneratedPrograms checks the laws of the scheduler for generated programs, each
// under a generated schedule.
func TestGeneratedPrograms(t *testing.T) {
	check(t, func(t *rapid.T) generated { return generateProgram(t) })
}
