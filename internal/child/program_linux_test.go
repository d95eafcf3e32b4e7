package child_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/proctest"
)

func init() { hosts["barred"] = barred }

// barred becomes another user than the superuser, and starts a process in a directory that it may not enter.
func barred(args []string) error {
	if err := syscall.Setresuid(65534, 65534, 65534); err != nil {
		return err
	}
	c := command("waits")
	c.Dir = args[0]
	if _, err := child.Start(c); !errors.Is(err, fs.ErrPermission) || !strings.HasPrefix(err.Error(), "child: Start: field Dir: chdir "+args[0]) {
		return fmt.Errorf("Start in %s: %w", args[0], err)
	}
	fmt.Println("done")
	return nil
}

// TestDirThatMayNotBeEntered checks that the error of Start names a directory that the host may not enter, and not the
// program.
func TestDirThatMayNotBeEntered(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only the superuser can become another user")
	}
	dir, err := os.MkdirTemp("", "closed") // the parents of t.TempDir may not be entered
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(dir) })
	out, err := proctest.Output(t, proctest.Role(t, "barred", dir))
	if out != "done\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
}
