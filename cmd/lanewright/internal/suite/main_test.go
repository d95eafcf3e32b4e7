package suite

import (
	"os"
	"testing"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/remote"
)

// TestMain runs the tests, or a worker process or another process of a benchmark.
func TestMain(m *testing.M) {
	remote.Main()
	os.Exit(m.Run())
}
