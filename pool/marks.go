package pool

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
)

// marks are the name of a task as profiles and traces show it.
type marks struct {
	labels *pprof.LabelSet // nil without Config.Labels
	region string          // empty without Config.Trace
}

// marksOf returns the marks of the task with that name, or nil if the configuration has none.
func (c *Config) marksOf(task string) *marks {
	if !c.Labels && !c.Trace {
		return nil
	}
	m := new(marks)
	if c.Labels {
		labels := pprof.Labels("task", task)
		m.labels = &labels
	}
	if c.Trace {
		m.region = "task " + task
	}
	return m
}

// around calls fn, which runs a handler, between the marks.
func (m *marks) around(ctx context.Context, fn func(ctx context.Context)) {
	if m.region != "" {
		defer trace.StartRegion(ctx, m.region).End()
	}
	if m.labels != nil {
		pprof.Do(ctx, *m.labels, fn)
		return
	}
	fn(ctx)
}
