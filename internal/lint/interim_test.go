package lint_test

import "maps"

// This file excuses the text that is not rewritten yet. Without it every rule is
// strict.

// interim is true while text is rewritten: exceptions may excuse nothing.
var interim = true

// shortened maps the rows of sched/PROTOCOL.md that shorten their claim to that claim.
// prose:off
var shortened = map[string]string{
	"no push is missed":                      "No push is missed by everybody",
	"one notification for many pushes":       "One notification may stand for many pushes",
	"who looks sees, or somebody answers":    "Who looks sees the task, or somebody else answers for it",
	"a held queue does not count":            "Who looks sees the task, or somebody else answers for it",
	"turned away for want of a place":        "Who is turned away for want of a place is not needed",
	"a wake-up is not lost":                  "A wake-up is not lost on the way",
	"a waiter may rely on the waking worker": "A waiter outlives the last worker",
	"nobody parks with a place":              "Nobody parks while it holds a place",
	"one wake-up under way":                  "At most one wake-up is under way",
} // prose:on

func init() {
	maps.Copy(proseLimits, map[string]proseLimit{
		".": {60, 4},
	})
	maps.Copy(crowded, map[string]string{
		"stress": "the laws move to folders below it",
	})
	maps.Copy(longManuals, map[string]int{
		"sched.Forks":     44,
		"sched.Group":     53,
		"sync.Parker":     34,
		"sync.Semaphore":  59,
		"sync.Sync":       39,
		"sync.WakeTokens": 35,
		"transport.Tag":   33,
	})
	maps.Copy(byBug, map[string]string{
		"sched": "the tests move to the files of their laws",
		"sync":  "the tests move to the files of their laws",
	})
}
