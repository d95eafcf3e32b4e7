//go:build race && !interleave

package lanelaw_test

const raceEnabled = true
