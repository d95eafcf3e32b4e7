package sched

// Job is a task with a value of its own. Fn gets the job that was scheduled, so the
// caller needs no unsafe code to find its value. Like a [Task] it belongs to the
// scheduler from Schedule until Fn is entered.
type Job[T any] struct {
	task Task // first, so that a task is its job

	// Fn is called by a worker, once for each time that the job is scheduled.
	Fn func(w *Worker, j *Job[T])

	// Value belongs to the caller. The scheduler does not touch it.
	Value T
}

// Task returns the task of the job, ready to be scheduled:
//
//	w.Schedule(job.Task())
//
// It returns nil when Fn is nil. Schedule refuses a nil task.
func (j *Job[T]) Task() *Task {
	if j == nil || j.Fn == nil {
		return nil
	}
	j.task.Fn = taskFn(j.Fn)
	return &j.task
}
