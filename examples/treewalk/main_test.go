package main

import (
	"context"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
	"github.com/lanewright/lanewright/sched"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

// grow makes a random tree of small directories and files in dir, depth levels deep.
func grow(t *testing.T, dir string, random *rand.Rand, depth int) {
	t.Helper()
	exts := []string{".go", ".md", ".GO", "", ".tar.gz"}
	for i := range random.IntN(6) {
		name := filepath.Join(dir, "f"+strconv.Itoa(i)+exts[random.IntN(len(exts))])
		if err := os.WriteFile(name, make([]byte, random.IntN(3000)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if depth == 0 {
		return
	}
	for i := range random.IntN(5) {
		sub := filepath.Join(dir, "d"+strconv.Itoa(i)+".d")
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
		grow(t, sub, random, depth-1)
	}
}

// walk computes the total of a tree on one goroutine.
func walk(t *testing.T, dir string) total {
	t.Helper()
	sum := total{types: map[string]usage{}}
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			sum.dirs++
		case d.Type().IsRegular():
			info, err := d.Info()
			if err != nil {
				return err
			}
			u := sum.types[extension(d.Name())]
			sum.types[extension(d.Name())] = usage{u.files + 1, u.bytes + info.Size()}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func same(a, b total) bool { return a.dirs == b.dirs && maps.Equal(a.types, b.types) }

func TestTotal(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		s, err := sched.New(sched.Config{MaxWorkers: workers})
		if err != nil {
			t.Fatal(err)
		}
		for seed := range uint64(2) {
			dir := t.TempDir()
			grow(t, dir, rand.New(rand.NewPCG(seed, 0)), 3)
			for i := range 70 { // more than are read at once
				if err := os.Mkdir(filepath.Join(dir, "empty"+strconv.Itoa(i)), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			root, err := readTree(t.Context(), s, dir)
			if err != nil {
				t.Fatal(err)
			}
			got := sched.ForkJoin(s, sum, root)
			if want := walk(t, dir); !same(got, want) || len(got.errs) > 0 {
				t.Errorf("seed %d, %d workers: got %+v, want %+v", seed, workers, got, want)
			}
		}
	}
}

// TestShapes: lists, wide trees and binary trees in memory are summed.
func TestShapes(t *testing.T) {
	s, err := sched.New(sched.Config{MaxWorkers: 4})
	if err != nil {
		t.Fatal(err)
	}
	const n = 10_000
	for name, parent := range map[string]func(i int) int{
		"list":   func(i int) int { return i - 1 },
		"wide":   func(int) int { return 0 },
		"binary": func(i int) int { return (i - 1) / 2 },
	} {
		// Until another worker has taken a fork, for one second at most.
		deadline := time.Now().Add(time.Second)
		for shared := s.Stats().Promoted; s.Stats().Promoted == shared && time.Now().Before(deadline); {
			dirs := make([]*dir, n)
			for i := range dirs {
				dirs[i] = &dir{total: total{dirs: 1, types: map[string]usage{strconv.Itoa(i % 7): {1, int64(i)}}}}
				if i > 0 {
					p := dirs[parent(i)]
					p.dirs = append(p.dirs, dirs[i])
				}
			}
			want := total{dirs: n, types: map[string]usage{}}
			for i := range n {
				u := want.types[strconv.Itoa(i%7)]
				want.types[strconv.Itoa(i%7)] = usage{u.files + 1, u.bytes + int64(i)}
			}
			if got := sched.ForkJoin(s, sum, dirs[0]); !same(got, want) {
				t.Fatalf("%s: got %+v, want %+v", name, got, want)
			}
		}
	}
}

// TestUnreadable: a missing directory is an error, and the others are summed.
func TestUnreadable(t *testing.T) {
	dir1, dir2 := t.TempDir(), t.TempDir()
	for _, d := range []string{dir1, dir2} {
		if err := os.WriteFile(filepath.Join(d, "a.txt"), []byte("text"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var s sched.Scheduler
	root := &dir{total: total{types: map[string]usage{}}}
	for _, path := range []string{dir1, filepath.Join(dir1, "none"), dir2} {
		d, err := readTree(t.Context(), &s, path)
		if err != nil {
			t.Fatal(err)
		}
		root.dirs = append(root.dirs, d)
	}
	got := sched.ForkJoin(&s, sum, root)
	if want := (usage{2, 8}); got.types[".txt"] != want {
		t.Errorf("got %+v, want %+v", got.types, want)
	}
	if len(got.errs) != 1 || !errors.Is(got.errs[0], fs.ErrNotExist) {
		t.Errorf("got the errors %v, want one that is %v", got.errs, fs.ErrNotExist)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var s sched.Scheduler
	if _, err := readTree(ctx, &s, t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestExtension(t *testing.T) {
	for name, want := range map[string]string{
		"a.go": ".go", "A.GO": ".go", "a.tar.gz": ".gz", "Makefile": "(none)", ".gitignore": "(none)", ".a.md": ".md",
	} {
		if got := extension(name); got != want {
			t.Errorf("extension(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for name, size := range map[string]int{"a.go": 100, "b.go": 20, "README.md": 7, "LICENSE": 300} {
		if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	// A symbolic link is skipped: otherwise this walk would not end. Some systems do
	// not permit the link; the test passes without it.
	_ = os.Symlink(dir, filepath.Join(dir, "sub", "loop"))
	stdout, stderr, code := cmdtest.Run(t, "-top", "2", dir)
	const want = "          bytes     files\n" +
		"            300         1  (none)\n" +
		"            120         2  .go\n" +
		"            427         4  in 2 directories\n"
	if code != 0 || stdout != want {
		t.Errorf("exit code %d, got\n%swant\n%s%s", code, stdout, want, stderr)
	}
	for _, tc := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{filepath.Join(dir, "none")}, 1, "none"},
		{[]string{filepath.Join(dir, "a.go")}, 1, "a.go"},
		{[]string{dir, dir}, 2, "usage: treewalk"},
		{[]string{"-h"}, 0, "usage: treewalk"},
	} {
		stdout, stderr, code := cmdtest.Run(t, tc.args...)
		if code != tc.code || !strings.Contains(stderr, tc.want) || stdout != "" {
			t.Errorf("treewalk %q: exit code %d, want %d and %q in\n%s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}
