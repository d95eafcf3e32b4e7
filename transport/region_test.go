package transport_test

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/transport"
)

// resident returns how many bytes of this process are in memory.
func resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skipf("the resident memory is not known: %v", err)
	}
	pages, err := strconv.Atoi(string(bytes.Fields(text)[1]))
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

// TestLinkLazyMemory checks that a new Link takes no memory for payloads. Later it
// takes only the memory of the payloads that it has carried. K-053, K-057. The test runs in a
// process of its own because the memory of a new process is new.
func TestLinkLazyMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector shadows all memory")
	}
	const own = "LANEWRIGHT_TEST_LAZY"
	if os.Getenv(own) == "" {
		out, err := proctest.Output(t, proctest.Self(t, []string{own + "=1"}, "-test.run=^TestLinkLazyMemory$", "-test.v"))
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		} else if strings.Contains(out, "--- SKIP") {
			t.Skipf("%s", out)
		}
		return
	}
	const mib = 1 << 20
	// The Go runtime clears memory that it may have used before. A link can therefore take
	// memory although NewLink writes nothing to it. One of several links shows what
	// NewLink writes.
	var l *transport.Link
	least := 0
	for range 4 {
		before := resident(t)
		other := newLink(t, transport.Config{})
		if took := resident(t) - before; l == nil || took < least {
			l, least = other, took
		}
	}
	if least > 16*mib {
		t.Errorf("a new link takes %d MiB at least, of two times 64", least/mib)
	}
	empty := resident(t)
	host := &l.Host().End
	for id := range uint64(3) {
		send(t, host, id, pattern(id, 8*mib))
	}
	if got := resident(t) - empty; got < 16*mib {
		t.Errorf("three payloads of 8 MiB take %d MiB", got/mib)
	}
}
