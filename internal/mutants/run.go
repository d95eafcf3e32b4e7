package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/lanewright/lanewright/internal/patience"
)

// timeout ends a test that hangs. A test that hangs does not kill a mutant, because a
// busy machine may need as long without the mutant.
const timeout = "10m"

// waits is how long a test waits for an event that a mutant may keep from coming: see package patience. It is
// shorter than elsewhere, because each such mutant takes as long. The same tests pass without the mutant within
// this limit, or no mutant counts as killed.
const waits = "20s"

// runner builds and runs tests of the tree at root.
type runner struct {
	ctx  context.Context
	root string
	tmp  string // the folder of overlays and test binaries

	mu     sync.Mutex
	sounds map[test]func() error // runs a test without a mutant, once
}

func newRunner(ctx context.Context, root, tmp string) *runner {
	return &runner{
		ctx: ctx, root: root, tmp: tmp,
		sounds: map[test]func() error{},
	}
}

// verdict is the outcome of one mutant.
type verdict struct {
	by     string // the test that failed; empty if none did
	output string // of that test
	took   time.Duration
	err    error // why there is no verdict
}

func (v verdict) killed() bool { return v.err == nil && v.by != "" }

// String returns the words that are printed after the name of the mutant.
func (v verdict) String() string {
	switch {
	case v.err != nil:
		return v.err.Error()
	case v.by == "":
		return "survived"
	}
	return "killed by " + v.by
}

// try plants m and runs its test.
func (r *runner) try(m *mutant) verdict {
	if err := r.sound(m.test); err != nil {
		return verdict{err: err}
	}
	files, err := m.apply(r.root)
	if err != nil {
		return verdict{err: err}
	}
	dir, err := os.MkdirTemp(r.tmp, m.name+"-")
	if err != nil {
		return verdict{err: err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin, err := r.buildPruned(m.test, dir, files)
	if err != nil {
		return verdict{err: fmt.Errorf("does not compile: %w", err)}
	}
	out, failed, err := r.run(m.test, bin)
	if err != nil || !failed {
		return verdict{output: out, err: err}
	}
	by, err := killer(out)
	return verdict{by: by, output: out, err: err}
}

// sound runs t without a mutant, once for each t, and returns an error if t fails.
func (r *runner) sound(t test) error {
	r.mu.Lock()
	check := r.sounds[t]
	if check == nil {
		check = sync.OnceValue(func() error { return r.checkSound(t) })
		r.sounds[t] = check
	}
	r.mu.Unlock()
	return check()
}

// checkSound runs the same tests as try, which prune may have left without something that they
// need at run time.
func (r *runner) checkSound(t test) error {
	dir, err := os.MkdirTemp(r.tmp, "sound-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	bin, err := r.buildPruned(t, dir, nil)
	if err != nil {
		return err
	}
	out, failed, err := r.run(t, bin, strings.Fields(t.sound)...)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(t.names, "|") {
		if failed || !strings.Contains(out, "--- PASS: "+name+" (") {
			return fmt.Errorf("has no verdict: %s does not pass without it:\n%s", name, out)
		}
	}
	return nil
}

// writeOverlay writes the changed files and their overlay list to dir. A file of a later
// map replaces one of an earlier map, and the overlay removes a file with an empty text. It
// returns the path of the list.
func writeOverlay(root, dir string, changed ...map[string]string) (string, error) {
	replace := map[string]string{}
	for _, files := range changed {
		for name, text := range files {
			to := ""
			if text != "" {
				to = filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
				if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
					return "", err
				}
			}
			replace[filepath.Join(root, name)] = to
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, b, 0o600)
}

// buildPruned compiles t with the changed files, and without the tests that t does not need.
// If that fails, it compiles all tests: either the changed files are at fault, and the
// compiler says so without the errors of a pruned file, or prune left out too much.
func (r *runner) buildPruned(t test, dir string, files map[string]string) (string, error) {
	if pruned, err := prune(r.root, t); err == nil {
		overlay, err := writeOverlay(r.root, dir, pruned, files)
		if err != nil {
			return "", err
		}
		if bin, err := r.build(t, dir, "-overlay="+overlay); err == nil {
			return bin, nil
		}
	}
	overlay, err := writeOverlay(r.root, dir, files)
	if err != nil {
		return "", err
	}
	return r.build(t, dir, "-overlay="+overlay)
}

// build compiles the tests of t into dir and returns the binary.
func (r *runner) build(t test, dir string, flags ...string) (string, error) {
	bin := filepath.Join(dir, "mutant.test")
	args := append([]string{"test", "-c", "-vet=off", "-o", bin, "-tags", t.tags, "-ldflags=-s -w"}, flags...)
	cmd := exec.CommandContext(r.ctx, "go", append(args, t.dir)...)
	cmd.Dir = r.root
	cmd.Env = append(cmd.Environ(), "GOGC=400") // the compiler is faster, and it needs little memory here
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return bin, nil
}

// run runs the tests of t. It returns their output and whether they failed.
func (r *runner) run(t test, bin string, flags ...string) (out string, failed bool, err error) {
	args := []string{"-test.v", "-test.failfast", "-test.timeout=" + timeout, "-test.run=^(" + t.names + ")$"}
	if t.short {
		args = append(args, "-test.short")
	}
	cmd := exec.CommandContext(r.ctx, bin, append(args, flags...)...)
	cmd.Dir = filepath.Join(r.root, t.dir)
	cmd.Env = append(cmd.Environ(), patience.Variable+"="+waits)
	b, err := cmd.CombinedOutput()
	if r.ctx.Err() != nil {
		return "", false, context.Cause(r.ctx)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", false, err
	}
	return string(b), err != nil, nil
}

var (
	failLine    = regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	timeoutLine = regexp.MustCompile(`(?m)^panic: test timed out after .*\n\s*running tests:\n\s*(\S+)`)
	runLine     = regexp.MustCompile(`(?m)^=== RUN   ([^\s/]+)$`)
)

// killer returns the test that failed, given the output of go test -v.
func killer(out string) (string, error) {
	if m := timeoutLine.FindStringSubmatch(out); m != nil {
		return "", fmt.Errorf("has no verdict: %s ran for more than %s", m[1], timeout)
	}
	if m := failLine.FindStringSubmatch(out); m != nil {
		return m[1], nil
	}
	// A panic in another goroutine than that of the test: the last test that began was
	// running.
	if ms := runLine.FindAllStringSubmatch(out, -1); len(ms) > 0 {
		if last := ms[len(ms)-1][1]; !strings.Contains(out, "--- PASS: "+last+" (") {
			return last, nil
		}
	}
	return "", errors.New("has no verdict: the run failed, but no test failed")
}
