package pool_test

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/pool"
)

// TestLabels checks that the goroutine of a handler and its context have the name of the task
// with Config.Labels. The law holds in every way to run a call. The caller has its own labels
// afterwards.
func TestLabels(t *testing.T) {
	inEveryWay(t, func(t *testing.T, c pool.Config, o pool.TaskOptions) {
		t.Helper()
		for _, on := range []bool{false, true} {
			c.Labels = on
			var h pool.Handlers
			f := pool.Register(&h, "render", func(ctx context.Context, _ int) (string, error) {
				var profile bytes.Buffer
				if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
					return "", err
				}
				name, _ := pprof.Label(ctx, "task")
				if strings.Contains(profile.String(), `"task":"render"`) != (name == "render") {
					return "", errors.New("the goroutine and the context have different labels")
				}
				return name, nil
			}, o)
			newPool(t, &h, c)
			want := ""
			if on {
				want = "render"
			}
			for range 2 {
				if name, err := f.Call(bg, 1); name != want || err != nil {
					t.Errorf("the label is %q, %v, want %q", name, err, want)
				}
			}
			var after bytes.Buffer
			must(t, pprof.Lookup("goroutine").WriteTo(&after, 1))
			if strings.Contains(after.String(), `"task":"render"`) {
				t.Errorf("a goroutine has the label after the call:\n%s", after.String())
			}
		}
	})
}

// TestTraceRegions checks that an execution trace has a region for each handler with
// Config.Trace. The handler may panic.
func TestTraceRegions(t *testing.T) {
	for _, on := range []bool{false, true} {
		var h pool.Handlers
		f := pool.Register(&h, "render", func(_ context.Context, n int) (int, error) {
			if n == 0 {
				panic("nothing to render")
			}
			return n, nil
		})
		newPool(t, &h, pool.Config{Lanes: 1, Trace: on})
		var out bytes.Buffer
		must(t, trace.Start(&out))
		_, errPanic := f.Call(bg, 0)
		_, err := f.Call(bg, 1)
		trace.Stop()
		must(t, err)
		if errPanic == nil {
			t.Error("the panic is lost")
		}
		if got := bytes.Contains(out.Bytes(), []byte("task render")); got != on {
			t.Errorf("Trace %t: the trace has the name of the task: %t", on, got)
		}
	}
}
