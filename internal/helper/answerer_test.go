//go:build (darwin || dragonfly || freebsd || linux || netbsd || openbsd) && !interleave

package helper_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/lanewright/lanewright/internal/helper"
	"github.com/lanewright/lanewright/internal/proctest"
)

// TestMain runs the tests, or a role.
func TestMain(m *testing.M) {
	helper.Main(nil)
	os.Exit(m.Run())
}

// kinds are the kinds of answerers.
var kinds = []struct {
	name  string
	start func(size int) (*helper.Answerer, error)
}{
	{"socket", helper.StartSocket},
	{"pipe", helper.StartPipe},
}

// TestAnswererNumbers checks that the answers to 32 outstanding numbers come in order.
func TestAnswererNumbers(t *testing.T) {
	proctest.Need(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			a, err := k.start(helper.NumberBytes)
			if err != nil {
				t.Fatal(err)
			}
			const outstanding = 32
			for i := range 3*outstanding + outstanding {
				if i >= outstanding {
					if got, err := a.ReceiveNumber(); got != i-outstanding+1 || err != nil {
						t.Fatalf("the answer to %d is %d, %v", i-outstanding, got, err)
					}
				}
				if i < 3*outstanding {
					if err := a.SendNumber(i); err != nil {
						t.Fatal(err)
					}
				}
			}
			end(t, a)
		})
	}
}

// TestAnswererPayloads checks payloads of all sizes around that of reading ahead.
func TestAnswererPayloads(t *testing.T) {
	proctest.Need(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			for _, size := range []int{1, 9, helper.ReadAhead - 1, helper.ReadAhead, helper.ReadAhead + 1, 1 << 20} {
				a, err := k.start(size)
				if err != nil {
					t.Fatal(err)
				}
				sent, got := make([]byte, size), make([]byte, size)
				for round := range 3 {
					for i := range sent {
						sent[i] = byte(i*7 + round)
					}
					if err := a.Send(sent); err != nil {
						t.Fatal(err)
					}
					if err := a.Receive(got); err != nil || !bytes.Equal(got, sent) {
						t.Fatalf("size %d, message %d: a wrong answer, %v", size, round, err)
					}
				}
				end(t, a)
			}
		})
	}
}

// TestAnswererEnds checks that a message to a process that has ended is an error.
func TestAnswererEnds(t *testing.T) {
	proctest.Need(t)
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			a, err := k.start(helper.NumberBytes)
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Process().Kill(); err != nil {
				t.Fatal(err)
			}
			<-a.Process().Done()
			err = a.SendNumber(1)
			if _, received := a.ReceiveNumber(); err == nil && received == nil {
				t.Error("a process that has ended answers")
			}
			end(t, a)
		})
	}
}

// end ends the process, and fails unless its host has waited for it.
func end(t *testing.T, a *helper.Answerer) {
	t.Helper()
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if a.Process().State() == nil {
		t.Error("the process has not ended")
	}
}
