package shm_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
)

// roles are the main functions of the processes that tests start: see proctest.Main.
var roles = map[string]func(args []string) error{
	"worker": worker,
}

func TestMain(m *testing.M) { proctest.Main(m, roles) }

// run runs a role to its end, and fails the test if the role fails.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := proctest.Output(t, cmd); err != nil {
		t.Errorf("the other process: %v\n%s", err, out)
	}
}

// kind is one kind of region, with the size in every call.
type kind struct {
	name string
	host func(t *testing.T, size int, w shm.Writer) (*shm.Region, error)
	// pass adds the region to the command of the worker and returns the argument for openers.
	pass func(cmd *exec.Cmd, r *shm.Region) string
}

// size is not a multiple of a page.
const size = 3*4096 + 64

// kinds are the kinds that this system has.
func kinds(t *testing.T) []kind {
	t.Helper()
	byFile := func(name string) func(cmd *exec.Cmd, r *shm.Region) string {
		return func(cmd *exec.Cmd, r *shm.Region) string {
			cmd.ExtraFiles = append(cmd.ExtraFiles, r.File())
			return fmt.Sprintf("%s:%d", name, 2+len(cmd.ExtraFiles))
		}
	}
	all := []kind{{
		name: "file",
		host: func(t *testing.T, size int, w shm.Writer) (*shm.Region, error) {
			t.Helper()
			return shm.File(t.TempDir(), size, w)
		},
		pass: byFile("file"),
	}}
	if !hasSealed {
		return all
	}
	var path string
	return append(all, kind{
		name: "sealed",
		host: func(_ *testing.T, size int, w shm.Writer) (*shm.Region, error) { return shm.Sealed("test", size, w) },
		pass: byFile("sealed"),
	}, kind{
		name: "named",
		host: func(t *testing.T, size int, w shm.Writer) (*shm.Region, error) {
			t.Helper()
			path = t.TempDir() + "/" + shm.NamePrefix + "test"
			return shm.Named(path, size, w)
		},
		pass: func(*exec.Cmd, *shm.Region) string { return "named:" + path },
	})
}

// open opens a region that the host has passed as "kind:argument".
func open(arg string, size int, w shm.Writer) (*shm.Region, error) {
	name, where, _ := strings.Cut(arg, ":")
	if name == "named" {
		return shm.OpenNamed(where, size, w)
	}
	var fd uintptr
	if _, err := fmt.Sscan(where, &fd); err != nil {
		return nil, err
	}
	f := os.NewFile(fd, "region")
	if name == "sealed" {
		return shm.Open(f, size, w)
	}
	return shm.OpenFile(f, size, w)
}

// pattern is the byte at an index of the requests.
func pattern(i int) byte { return byte(i*7 + i>>8 + 1) }

// worker reads the first region and writes its complement to the second one.
func worker(args []string) error {
	requests, err := open(args[0], size, shm.There)
	if err != nil {
		return err
	}
	answers, err := open(args[1], size, shm.Here)
	if err != nil {
		return err
	}
	if requests.File() != nil || answers.File() != nil {
		return fmt.Errorf("the process that has opened a region keeps its descriptor")
	}
	for i, b := range requests.Bytes() {
		if b != pattern(i) {
			return fmt.Errorf("byte %d of the requests is %d, want %d", i, b, pattern(i))
		}
		answers.Bytes()[i] = ^b
	}
	return nil
}

// host makes a region that the test closes at its end.
func host(t *testing.T, k kind, size int, w shm.Writer) *shm.Region {
	t.Helper()
	r, err := k.host(t, size, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}
