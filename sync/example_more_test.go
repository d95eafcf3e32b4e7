package sync_test

import (
	"fmt"

	lfsync "github.com/lanewright/lanewright/sync"
)

// What a caller does once the word is stored.
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
		case lfsync.ActionNone:
			fmt.Println("go on")
		}
	}
	// Output:
	// start a worker
	// go on
	// go on
}

// What a worker does that found no task.
func ExampleOutcome() {
	w := lfsync.MakeWord(lfsync.StateSignaled, true, 0, 1)
	waking := false
	for range 2 {
		var out lfsync.Outcome
		w, out = w.Wait(waking, false)
		waking = out == lfsync.OutcomeSearchWaking
		fmt.Println(out)
	}
	idle := true // it has parked
	w, _, _ = w.Shutdown()
	_, out := w.Wait(waking, idle)
	fmt.Println(out)
	// Output:
	// search waking
	// park
	// shutdown
}

// The state of a wake on its way from a caller to a worker.
func ExampleState() {
	w := lfsync.MakeWord(lfsync.StatePending, false, 1, 1)
	fmt.Println(w.State())
	w, _ = w.Notify(false, 1) // somebody has made a task visible
	fmt.Println(w.State())
	w, _ = w.Wait(false, true) // the worker comes
	fmt.Println(w.State())
	w, _ = w.Notify(true, 1) // and has found the task
	fmt.Println(w.State())
	// Output:
	// pending
	// signaled
	// waking
	// pending
}
