package workload

import (
	"testing"

	"github.com/lanewright/lanewright/internal/qsort"
	"github.com/lanewright/lanewright/sched"
)

// TestSorts checks the result and the number of tasks of every sort that the benchmarks
// compare. Z-101.
func TestSorts(t *testing.T) {
	for _, size := range []int{1, qsort.Cutoff, qsort.Cutoff + 1, 100_000} {
		want := Parts(size)
		for _, workers := range []int{1, 3} {
			s, err := sched.New(sched.Config{MaxWorkers: workers})
			if err != nil {
				t.Fatal(err)
			}
			for name, sort := range map[string]func(a []int32) (int, error){
				"sorter": func(a []int32) (int, error) {
					o := NewSorter(s)
					err := o.Sort(a)
					return o.Tasks(), err
				},
				"joiner": func(a []int32) (int, error) {
					o := NewJoiner(s)
					err := o.Sort(a)
					return o.Tasks(), err
				},
				"goroutines":          func(a []int32) (int, error) { GoSort(a); return NotCounted, nil },
				"goroutines, joining": func(a []int32) (int, error) { GoJoin(a); return NotCounted, nil },
				"a channel pool":      func(a []int32) (int, error) { PoolSort(workers, a); return NotCounted, nil },
			} {
				a := make([]int32, size)
				qsort.Fill(a)
				qsort.Shuffle(a)
				tasks, err := sort(a)
				if err != nil {
					t.Errorf("%s of %d: %v", name, size, err)
				}
				if err := CheckSort(a, tasks, want); err != nil {
					t.Errorf("%s of %d with %d workers: %v", name, size, workers, err)
				}
			}
			if err := Shutdown(s); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestCheckSort checks that CheckSort finds a wrong result.
func TestCheckSort(t *testing.T) {
	for _, tc := range []struct {
		name  string
		a     []int32
		tasks int
		ok    bool
	}{
		{"right", []int32{0, 1, 2}, 4, true},
		{"not counted", []int32{0, 1, 2}, NotCounted, true},
		{"order", []int32{1, 0, 2}, 4, false},
		{"lost task", []int32{0, 1, 2}, 3, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if err := CheckSort(tc.a, tc.tasks, 4); (err == nil) != tc.ok {
				t.Errorf("CheckSort = %v, want ok: %t", err, tc.ok)
			}
		})
	}
}

// TestSortRefused checks that a sort fails when the scheduler refuses its tasks.
func TestSortRefused(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := Shutdown(s); err != nil {
		t.Fatal(err)
	}
	for _, o := range []interface{ Sort(a []int32) error }{NewSorter(s), NewJoiner(s)} {
		if err := o.Sort(make([]int32, 1000)); err == nil {
			t.Errorf("%T: no error from a scheduler that is shut down", o)
		}
	}
}
