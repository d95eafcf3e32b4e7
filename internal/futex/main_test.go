package futex_test

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/atomix"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/proctest"
	"github.com/lanewright/lanewright/internal/shm"
)

// roles are the main functions of the processes that tests start: see proctest.Main.
var roles = map[string]func(args []string) error{"echo": echo}

func TestMain(m *testing.M) { proctest.Main(m, roles) }

// The layout of the memory of a pair of processes. Words of different writers are 256 bytes
// apart.
const (
	bellOfHost   = 0   // written by the worker
	parkedHost   = 64  // written by the host: the bell that it parks on, plus 1
	bellOfWorker = 128 // written by the host
	parkedWorker = 192 // written by the worker
	question     = 256 // written by the host
	answer       = 320 // written by the worker
	memoryBytes  = 4 * 4096
)

// side is one side of a pair of processes, which ask and answer by one word each. Its protocol
// is that of the doorbells of package transport, without a spin.
type side struct {
	waker                          futex.Waker
	ownBell, peerBell              *atomix.Uint32
	ownParked, peerParked, own, in *atomix.Uint32
}

// sideOf returns the side of the host or of the worker over memory of both.
func sideOf(words []atomix.Uint32, w futex.Waker, isHost bool) *side {
	if isHost {
		return &side{w, &words[bellOfHost], &words[bellOfWorker], &words[parkedHost], &words[parkedWorker], &words[question], &words[answer]}
	}
	return &side{w, &words[bellOfWorker], &words[bellOfHost], &words[parkedWorker], &words[parkedHost], &words[answer], &words[question]}
}

// await parks until the word of the other side has the value want. It returns false when the
// deadline has passed.
func (s *side) await(want uint32, until int64) bool {
	for s.in.Load() != want {
		seen := s.ownBell.Load()
		s.ownParked.Store(seen | 1)
		timeout := false
		if s.in.Load() != want {
			timeout = s.waker.Park(s.ownBell, seen, until)
		}
		s.ownParked.Store(0)
		if timeout {
			return s.in.Load() == want
		}
	}
	return true
}

// put stores a value in the word of this side, and wakes the other side if it is parked.
func (s *side) put(v uint32) {
	s.own.Store(v)
	if p := s.peerParked.Load(); p != 0 && s.peerBell.CompareAndSwap(p&^1, p&^1+2) {
		s.waker.WakePeer(s.peerBell)
	}
}

// echo answers each question with the same value, and ends after the number of rounds in the
// first argument. The memory has the descriptor 3, and the files of the Waker come after it.
func echo(args []string) error {
	rounds, err := strconv.ParseUint(args[0], 10, 32)
	if err != nil {
		return err
	}
	files, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	r, err := shm.OpenFile(os.NewFile(3, "memory"), memoryBytes, shm.Here)
	if err != nil {
		return err
	}
	var of []*os.File
	for i := range files {
		of = append(of, os.NewFile(uintptr(4+i), "waker"))
	}
	w, err := futex.OpenWaker(of)
	if err != nil {
		return err
	}
	s := sideOf(wordsOf(r.Bytes()), w, false)
	for i := range uint32(rounds) {
		s.await(i+1, 0)
		s.put(i + 1)
	}
	return w.Close()
}

// memory returns memory that another process can map.
func memory(t *testing.T) *shm.Region {
	t.Helper()
	r, err := shm.File(t.TempDir(), memoryBytes, shm.There)
	if err != nil {
		t.Fatal(err)
	}
	f := r.File()
	fd, err := dup(f)
	if err != nil {
		t.Fatal(err)
	}
	both, err := shm.OpenFile(fd, memoryBytes, shm.Here) // both processes write
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Unmap(); err != nil {
			t.Error(err)
		}
		if err := both.Close(); err != nil {
			t.Error(err)
		}
	})
	held.Store(both, f)
	return both
}

// held has the descriptor of each memory, for the other process.
var held sync.Map

// start returns the command of a role with the memory of the test and files as its first
// descriptors.
func start(t *testing.T, role string, r *shm.Region, files []*os.File, args ...string) *exec.Cmd {
	t.Helper()
	cmd := proctest.Role(t, role, args...)
	f, _ := held.Load(r)
	cmd.ExtraFiles = append([]*os.File{f.(*os.File)}, files...)
	return cmd
}

// begin starts a command. The returned function waits for its end and fails the test if the
// command has failed.
func begin(t *testing.T, cmd *exec.Cmd) (end func()) {
	t.Helper()
	proctest.Need(t)
	out, err := os.CreateTemp(t.TempDir(), "output")
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Skipf("a test cannot start %s here: %v", cmd.Path, err)
	}
	return func() {
		t.Helper()
		if err := cmd.Wait(); err != nil {
			out.Seek(0, io.SeekStart)
			text, _ := io.ReadAll(out)
			t.Errorf("the other process: %v\n%s", err, text)
		}
	}
}

// needWaitv skips the test where the kernel has no futex_waitv.
func needWaitv(t *testing.T) {
	t.Helper()
	if !futex.HasWaitv() {
		t.Skip("no futex_waitv")
	}
}
