//go:build !interleave

package atomix_test

import (
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestAliases: in a normal build the types are those of sync/atomic, so they cost
// nothing.
func TestAliases(t *testing.T) {
	for _, tc := range []struct{ got, want any }{
		{atomix.Bool{}, atomic.Bool{}},
		{atomix.Int32{}, atomic.Int32{}},
		{atomix.Int64{}, atomic.Int64{}},
		{atomix.Uint32{}, atomic.Uint32{}},
		{atomix.Uint64{}, atomic.Uint64{}},
		{atomix.Uintptr{}, atomic.Uintptr{}},
		{atomix.Pointer[int]{}, atomic.Pointer[int]{}},
	} {
		if got, want := reflect.TypeOf(tc.got), reflect.TypeOf(tc.want); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestCellInlines: the compiler inlines each access to a Cell, so it is a plain load or
// store.
func TestCellInlines(t *testing.T) {
	out, err := proctest.Output(t, exec.Command("go", "test", "-c", "-o", t.TempDir()+"/x.test", "-gcflags=-m", "."))
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var cells []string
	for line := range strings.Lines(out) {
		if strings.Contains(line, "atomix.(*Cell[") {
			cells = append(cells, line)
		}
	}
	for _, method := range []string{"Get", "Set"} {
		for _, message := range []string{"can inline ", "inlining call to "} {
			if !slices.ContainsFunc(cells, func(line string) bool {
				return strings.Contains(line, message) && strings.Contains(line, "])."+method+"\n")
			}) {
				t.Errorf("the compiler does not print %q for Cell.%s:\n%s", message, method, strings.Join(cells, ""))
			}
		}
	}
}

// useCell has the calls that TestCellInlines looks for.
func useCell(c *atomix.Cell[*int], v *int) *int {
	old := c.Get()
	c.Set(v)
	return old
}

func TestCell(t *testing.T) {
	var c atomix.Cell[*int]
	v := new(int)
	if got := useCell(&c, v); got != nil {
		t.Errorf("an empty cell contains %p", got)
	}
	if got := useCell(&c, nil); got != v {
		t.Errorf("got %p, want %p", got, v)
	}
	if got, want := unsafe.Sizeof(c), unsafe.Sizeof(v); got != want {
		t.Errorf("a cell of a pointer has %d bytes, want %d", got, want)
	}
}
