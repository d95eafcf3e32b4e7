package lanelaw

// Laws returns the laws of lanes.
func Laws() []Law {
	return []Law{
		{"own", "Every call ends, with the result of its own handler.", lawAfterUse(func(run *trial) { run.checkOwn() })},
		{"once", "A handler is entered once, and an outcome does not change.", lawAfterUse((*trial).checkOnce)},
		{"counts", "At every moment what waits and what is in flight are what was accepted less what has ended, and at rest there is nothing.", lawCounts},
		{"order", "The calls of one caller start in the order in which it made them.", lawOrder},
		{"limit", "A lane runs as many handlers at once as it says, and no more.", lawLimit},
		{"failures", "An error, a panic and a Goexit of a handler are the outcome of its call, and of no other.", lawFailures},
		{"unknown", "A call of a task that does not exist fails, and says so.", lawUnknown},
		{"payloads", "What a handler returns is what its caller gets, of every kind and size; what is too large is refused, and nothing else.", lawPayloads},
		{"nested", "A call inside of a handler ends, however deep and on whatever lane, or is refused.", lawNested},
		{"ping", "An open lane answers a ping, without a handler.", lawPing},
		{"pause", "What is accepted during a pause starts after it; what runs goes on.", lawPause},
		{"abort", "An abort ends a call at once: one that waits never starts, one that runs is told, one that has ended stays as it is.", lawAbort},
		{"aborts", "However an abort, a deadline and a result race, one of them is the outcome, and no other call is told.", lawAborts},
		{"abortslots", "The slots for aborts are as many as there should be, and all of them come back.", lawAbortSlots},
		{"deadline", "A deadline counts from when the call was made: a call that waits too long never starts.", lawDeadline},
		{"slots", "A lane whose handlers are busy takes as many calls as it says, again and again; one that is refused does not run.", lawSlots},
		{"policies", "Of more calls than there is room for, the policy decides which wait, run, or end.", lawPolicies},
		{"shutdown", "Shutdown finishes what was accepted and refuses the rest.", lawShutdown},
		{"close", "Close ends what was accepted at once, and refuses the rest.", lawClose},
	}
}
