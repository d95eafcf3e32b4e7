package peers_test

import (
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/bench/peers"
	"github.com/lanewright/lanewright/bench/remote"
	"github.com/lanewright/lanewright/internal/bench"
)

// TestMain runs the tests, or the process of a peer.
func TestMain(m *testing.M) {
	remote.Main()
	os.Exit(m.Run())
}

// TestSuite checks the row of every workload with every peer that can do it and cannot
// hang, at tiny sizes. It runs with one worker and with more workers than some machines
// have processors. Each run checks its result.
func TestSuite(t *testing.T) {
	for _, w := range peers.Suite(peers.Tiny()) {
		for _, p := range peers.All() {
			if w.MayHang(p) || w.Cannot(p) != "" {
				continue
			}
			for _, workers := range []int{1, 3} {
				t.Run(w.Name+"/"+p.Name+"/"+string(rune('0'+workers)), func(t *testing.T) {
					began := 0
					res, err := w.Benchmark(p, func() { began++ }).Measure(t.Context(), workers, 1, nil)
					if errors.Is(err, errors.ErrUnsupported) {
						t.Skip(err)
					}
					if err != nil {
						t.Fatal(err)
					}
					r := res.Row
					unit, better := w.Unit()
					if r.Bench != w.Name || r.Workers != workers || r.Runs != 1 || r.Unit != unit || r.Better != better {
						t.Errorf("row = %+v", r)
					}
					if counted := w.Name == "lane/web"; (r.RefusedPerOp != nil) != counted {
						t.Errorf("refused_per_op = %v, want one: %t", r.RefusedPerOp, counted)
					}
					if math.IsNaN(r.Value) || r.Min > r.Value || r.Value > r.Max || r.Value < 0 && unit != bench.BytesPerTask {
						t.Errorf("value, min, max = %v, %v, %v", r.Value, r.Min, r.Max)
					}
					if compared := strings.HasPrefix(w.Name, "process/") && p.Name != "socket"; compared != (r.Ratios["socket"] > 0) {
						t.Errorf("ratios = %v, want one to the socket: %t", r.Ratios, compared)
					}
					if want := 2 * (1 + len(res.References)); began != want {
						t.Errorf("begin was called for %d runs, want %d: one to warm up and one measured run of each variant", began, want)
					}
				})
			}
		}
	}
}

// TestCallsOtherProcess checks that the peers which call another process do exactly the workloads of process lanes.
func TestCallsOtherProcess(t *testing.T) {
	callers := []string{"socket", "pipe", "net-rpc", "grpc", "grpc-stream", "go-plugin", "go-plugin-grpc"}
	for _, w := range peers.Suite(peers.Full()) {
		for _, p := range peers.All() {
			process, caller := strings.HasPrefix(w.Name, "process/"), slices.Contains(callers, p.Name)
			if reason := w.Cannot(p); process != caller && reason == "" || process && caller && reason != "" {
				t.Errorf("%s: %s cannot do it: %q", w.Name, p.Name, reason)
			}
			if process && w.MayHang(p) {
				t.Errorf("%s may hang with %s", w.Name, p.Name)
			}
		}
	}
}

// TestList checks the number of workloads, that their names are unique, and which peers
// can hang in them.
func TestList(t *testing.T) {
	all := peers.Suite(peers.Full())
	var names []string
	for _, w := range all {
		if slices.Contains(names, w.Name) {
			t.Errorf("two workloads have the name %s", w.Name)
		}
		if peers.Pick(all, w.Name) != w {
			t.Errorf("Pick does not find %s", w.Name)
		}
		names = append(names, w.Name)
		hang := map[string]bool{}
		for _, p := range peers.All() {
			if w.MayHang(p) && w.Cannot(p) == "" {
				hang[p.Name] = true
			}
		}
		join := strings.HasPrefix(w.Name, "fork-join/") || w.Name == "sched/quicksort-join"
		for name, want := range map[string]bool{
			"goroutines": false, "errgroup": false, "conc": false, "ants-unlimited": false,
			"pond": join, "gammazero": join, "gopool": join, "channel": join, "xsync": join,
			"ants": join || slices.Contains([]string{"sched/local-tree", "sched/yield", "sched/chain", "sched/quicksort"}, w.Name),
		} {
			if hang[name] != want {
				t.Errorf("%s: %s may hang: %t, want %t", w.Name, name, hang[name], want)
			}
		}
	}
	if len(names) != 35 {
		t.Errorf("%d workloads, want 35: %q", len(names), names)
	}
	for _, p := range peers.All() {
		if peers.Find(p.Name) == nil || p.About == "" {
			t.Errorf("%+v", p)
		}
	}
	if peers.Find("none") != nil || peers.Pick(all, "none") != nil {
		t.Error("found a peer or a workload that does not exist")
	}
}
