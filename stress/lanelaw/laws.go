package lanelaw

// Laws returns the laws of lanes.
func Laws() []Law {
	return []Law{
		{"own", "Every call ends with the result of its own handler.", lawAfterUse(func(run *trial) { run.checkOwn() })},
		{"once", "A handler is entered once, and an outcome does not change.", lawAfterUse((*trial).checkOnce)},
		{"counts", "Backlog plus InFlight is Accepted minus Ended in each snapshot, and zero when no call is left.", lawCounts},
		{"order", "The calls of one caller start in the order in which it made them.", lawOrder},
		{"limit", "A lane runs Concurrency handlers at once, and no more.", lawLimit},
		{"idle", "While one handler more may run, every call ends, whatever the other handlers wait for.", lawIdle},
		{"leases", "A leased lane runs no calls but those of its lease, and each wait for a lease ends with one or with its cause.", lawLeases(lawExclusive)},
		{"reserves", "A lane that a goroutine waits for is leased before it starts other calls.", lawLeases(lawReserves)},
		{"discards", "A Discard ends the lease of a lane, its calls and its id, and the lane continues.", lawLeases(lawDiscard)},
		{"failures", "An error, a panic or a Goexit of a handler is the outcome of its own call only.", lawFailures},
		{"unknown", "A call of an unknown task fails with an error that names the task.", lawUnknown},
		{"payloads", "The caller receives the value that the handler returned, of every type and size; only a payload over MaxPayload is refused.", lawPayloads},
		{"nested", "A call that a handler makes ends, at any depth and on any lane, or is refused.", lawNested},
		{"ping", "An open lane answers a ping without a handler.", lawPing},
		{"pause", "A call that is accepted during a pause starts after it, and running handlers continue.", lawPause},
		{"abort", "An abort ends a call at once: a waiting call never starts, a running handler is notified, an ended call keeps its outcome.", lawAbort},
		{"aborts", "When an abort, a deadline and a result race, one of them is the outcome, and no other call is aborted.", lawAborts},
		{"abortslots", "There are AbortCapacity abort slots, and every slot is released.", lawAbortSlots},
		{"deadline", "A deadline counts from the time of the call: a call that waits for longer never starts.", lawDeadline},
		{"backlog", "A busy lane accepts as many calls as its backlog, repeatedly, and a refused call does not run.", lawBacklog},
		{"policies", "When a lane is full, the overflow policy decides which calls wait, run, or end.", lawPolicies},
		{"shutdown", "Shutdown finishes the accepted calls and refuses later ones.", lawShutdown},
		{"close", "Close ends the accepted calls at once and refuses later ones.", lawClose},
	}
}
