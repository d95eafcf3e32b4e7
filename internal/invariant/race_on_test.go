//go:build race

package invariant_test

const raceEnabled = true
