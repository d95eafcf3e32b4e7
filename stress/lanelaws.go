package stress

// LaneLaws returns the laws of lanes.
func LaneLaws() []LaneLaw {
	return []LaneLaw{
		{"own", "Every call ends, with the result of its own handler.", laneUsed(func(run *laneRun) { run.checkOwn() })},
		{"once", "A handler is entered once, and an outcome does not change.", laneUsed((*laneRun).checkOnce)},
		{"counts", "At every moment what waits and what is in flight are what was accepted less what has ended, and at rest there is nothing.", laneCounts},
		{"order", "The calls of one caller start in the order in which it made them.", laneOrder},
		{"limit", "A lane runs as many handlers at once as it says, and no more.", laneLimit},
		{"failures", "An error, a panic and a Goexit of a handler are the outcome of its call, and of no other.", laneFailures},
		{"unknown", "A call of a task that does not exist fails, and says so.", laneUnknown},
		{"payloads", "What a handler returns is what its caller gets, of every kind and size; what is too large is refused, and nothing else.", lanePayloads},
		{"nested", "A call inside of a handler ends, however deep and on whatever lane, or is refused.", laneNested},
		{"ping", "An open lane answers a ping, without a handler.", lanePing},
		{"pause", "What is accepted during a pause starts after it; what runs goes on.", lanePause},
		{"abort", "An abort ends a call at once: one that waits never starts, one that runs is told, one that has ended stays as it is.", laneAbort},
		{"aborts", "However an abort, a deadline and a result race, one of them is the outcome, and no other call is told.", laneAborts},
		{"abortslots", "The slots for aborts are as many as there should be, and all of them come back.", laneAbortSlots},
		{"deadline", "A deadline counts from when the call was made: a call that waits too long never starts.", laneDeadline},
		{"slots", "A lane whose handlers are busy takes as many calls as it says, again and again; one that is refused does not run.", laneSlots},
		{"policies", "Of more calls than there is room for, the policy decides which wait, run, or end.", lanePolicies},
		{"shutdown", "Shutdown finishes what was accepted and refuses the rest.", laneShutdown},
		{"close", "Close ends what was accepted at once, and refuses the rest.", laneClose},
	}
}
