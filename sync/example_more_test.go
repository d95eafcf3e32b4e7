package sync_test

import (
	"fmt"

	lfsync "github.com/lanewright/lanewright/sync"
)

// An Action is the step that the caller takes once the word is stored.
func ExampleAction() {
	var w lfsync.Word
	for range 3 {
		var act lfsync.Action
		w, act = w.Notify(false, 1)
		switch act {
		case lfsync.ActionSpawn:
			fmt.Println("start a worker")
		case lfsync.ActionWake:
			fmt.Println("post a token")
		case lfsync.ActionResume:
			fmt.Println("unpark the lingering worker")
		case lfsync.ActionNone:
			fmt.Println("continue")
		}
	}
	// Output:
	// start a worker
	// continue
	// continue
}

// An Outcome is the next step of a worker that found no task.
func ExampleOutcome() {
	w := lfsync.MakeWord(lfsync.StateSignaled, true, 0, 1)
	waking := false
	for range 2 {
		var out lfsync.Outcome
		w, out = w.Wait(waking, false)
		waking = out == lfsync.OutcomeSearchWaking
		fmt.Println(out)
	}
	idle := true // the worker has parked
	w, _, _ = w.Shutdown()
	_, out := w.Wait(waking, idle)
	fmt.Println(out)
	// Output:
	// search waking
	// park
	// shutdown
}

// The State follows one wake-up from the notifier to the worker.
func ExampleState() {
	w := lfsync.MakeWord(lfsync.StatePending, false, 1, 1)
	fmt.Println(w.State())
	w, _ = w.Notify(false, 1) // a task was made visible
	fmt.Println(w.State())
	w, _ = w.Wait(false, true) // the worker has woken
	fmt.Println(w.State())
	w, _ = w.Notify(true, 1) // the worker has found the task
	fmt.Println(w.State())
	// Output:
	// pending
	// signaled
	// waking
	// pending
}
