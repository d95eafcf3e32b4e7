package rows_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

// TestJSON checks both forms of a row, and that Read returns the written row.
func TestJSON(t *testing.T) {
	cpu := 4.0
	full := bench.Row{
		Bench: "fork-join/fib", Impl: "ants", Workers: 2, Value: 2, Unit: "ns/op", Better: "less", Min: 1, Max: 3, Runs: 9,
		Ratios: map[string]float64{"sequential": 0.5}, AllocsPerOp: 1, CPUNsPerOp: &cpu,
	}
	const figures = `"bench":"fork-join/fib","impl":"ants","workers":2,"value":2,"unit":"ns/op","better":"less","min":1,"max":3,"runs":9,"ratios":{"sequential":0.5},"allocs_per_op":1,"cpu_ns_per_op":4`
	for _, tc := range []struct {
		name string
		row  rows.Row
		want string
	}{
		{"plain", rows.Row{Row: full}, `{` + figures + `}`},
		{"note", rows.Row{Row: full, Note: "fib(25)"}, `{` + figures + `,"note":"fib(25)"}`},
		{
			"deadlock",
			rows.Row{Row: bench.Row{Bench: "b", Impl: "ants", Workers: 1, Unit: "ns/op", Better: "less"}, Note: "deadlock: not done after 6 s"},
			`{"bench":"b","impl":"ants","workers":1,"unit":"ns/op","better":"less","note":"deadlock: not done after 6 s"}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var out strings.Builder
			if err := tc.row.WriteJSON(&out); err != nil {
				t.Fatal(err)
			}
			if out.String() != tc.want+"\n" {
				t.Errorf("got  %swant %s", out.String(), tc.want)
			}
			got, err := rows.Read(strings.NewReader("\n" + out.String() + "\n"))
			if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], tc.row) {
				t.Errorf("read %+v, %v, want %+v", got, err, tc.row)
			}
			if got[0].HasValue() != (tc.row.Runs > 0) {
				t.Errorf("HasValue = %t", got[0].HasValue())
			}
		})
	}
}

// TestReadRefuses checks that a line that is not a row is an error.
func TestReadRefuses(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"no JSON", "hello", "line 1: "},
		{"no row", `{"bench":"b","impl":"i","workers":1,"runs":1}` + "\n{}", "line 2: a row needs bench, impl and workers"},
		{"no value", `{"bench":"b","impl":"i","workers":1}`, "line 1: a row without runs needs a note"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.jsonl")
			if err := os.WriteFile(file, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := rows.ReadFile(file)
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "x.jsonl") {
				t.Errorf("error = %v, want one with the file and %q", err, tc.want)
			}
		})
	}
	if _, err := rows.ReadFile(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("read a file that does not exist")
	}
}

// TestSorted checks that Sorted iterates in the order of the keys.
func TestSorted(t *testing.T) {
	var got string
	for k, v := range rows.Sorted(map[string]string{"b": "2", "a": "1", "c": "3"}) {
		if got += k + v; k == "b" {
			break
		}
	}
	if got != "a1b2" {
		t.Errorf("got %q, want a1b2", got)
	}
}
