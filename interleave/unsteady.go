package interleave

// A depth-first search runs the steps up to a node again in each execution below it.
// If the program does not do the same again, the search runs other executions than it
// counts. It therefore keeps a log of the steps and results of the execution before,
// and compares it entry by entry. An entry is a step (thread, operation, object) or a
// result.

// logStep compares a step with that of the execution before, or records it.
//
//go:norace
func (x *explorer) logStep(o op, t *thread) {
	x.logEntry(uint64(o.kind)<<48|uint64(o.obj)<<8|uint64(t.id), false)
}

// logResult compares the result of the current step with that of the execution before, or
// records it.
//
//go:norace
func (x *explorer) logResult(v uint64) { x.logEntry(v, true) }

//go:norace
func (x *explorer) logEntry(v uint64, result bool) {
	if x.strategy != DFS || x.phase != phaseRun || x.replaying {
		return
	}
	i := x.logged
	x.logged++
	if i < x.repeats {
		if x.log[i] != v {
			if result {
				x.unsteady("an operation has another result")
			} else {
				x.unsteady("a thread takes another step")
			}
		}
		return
	}
	if i == len(x.log) {
		x.log = extend(x.log)
	}
	x.log[i] = v
}

// unsteady fails an execution that does not repeat the one before as far as their
// paths agree.
//
//go:norace
func (x *explorer) unsteady(difference string) {
	where := ""
	if x.current != nil && x.phase == phaseRun {
		if where = x.caller(); where != "" {
			where = " at " + where
		}
	}
	x.fail(&Failure{Kind: Unsteady, Message: sprintf("the program is not deterministic: in step %d%s %s than in the execution before. It may depend only on the order of its steps and on Choose, and not on the order of maps, time, random numbers, addresses, goroutines of its own, or state from the last execution", x.steps, where, difference)})
}
