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

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
	"github.com/lanewright/lanewright/sched"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

func scheduler(t *testing.T, workers int) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func counts(t table) map[string]int {
	m := map[string]int{}
	for word, n := range t {
		m[word] = *n
	}
	return m
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestCount(t *testing.T) {
	for _, tc := range []struct {
		text string
		want map[string]int
	}{
		{"", map[string]int{}},
		{" ,.-\n", map[string]int{}},
		{"one", map[string]int{"one": 1}},
		{"To be, or not to be", map[string]int{"to": 2, "be": 2, "or": 1, "not": 1}},
		{"don't\tDon't\r\n42 x86_64", map[string]int{"don't": 2, "42": 1, "x86": 1, "64": 1}},
		{"Ärger ärger\xff日本", map[string]int{"ärger": 2, "日本": 1}},
	} {
		got := table{}
		got.count([]byte(tc.text))
		if !maps.Equal(counts(got), tc.want) {
			t.Errorf("%q: got %v, want %v", tc.text, counts(got), tc.want)
		}
	}
}

// TestFiles: more files than are in memory at once have the counts of one goroutine.
func TestFiles(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(uint64(workers), 0))
		want := map[string]int{}
		for i := range 10 * inFlight {
			var text strings.Builder
			for range random.IntN(200) {
				word := "w" + strconv.Itoa(random.IntN(100))
				want[word]++
				text.WriteString(word + " ")
			}
			write(t, filepath.Join(dir, []string{"", "sub"}[i%2], "f"+strconv.Itoa(i)), text.String())
		}
		c := newCounter(scheduler(t, workers))
		c.addAll(t.Context(), []string{dir})
		got, err := c.wait()
		if err != nil || !maps.Equal(counts(got), want) {
			t.Errorf("%d workers: got %v, %v, want %v", workers, counts(got), err, want)
		}
	}
}

// TestUnreadable: each missing file is an error, and the others are counted.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	good := write(t, filepath.Join(dir, "good"), "word word")
	c := newCounter(scheduler(t, 2))
	const missing = 3 * inFlight
	for i := range missing {
		if err := c.add(t.Context(), filepath.Join(dir, "none"+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	c.addAll(t.Context(), []string{filepath.Join(dir, "none"), good})
	words, err := c.wait()
	if got := counts(words); got["word"] != 2 || len(got) != 1 {
		t.Errorf("got %v, want two words", got)
	}
	if !errors.Is(err, fs.ErrNotExist) || len(c.errs) != missing+1 {
		t.Errorf("got %d errors %v, want %d", len(c.errs), err, missing+1)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := write(t, filepath.Join(t.TempDir(), "file"), "word")
	if err := run(ctx, []string{file}, 1, 2); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestProgram(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	one := write(t, filepath.Join(dir, "one.txt"), "a b c A b a")
	write(t, filepath.Join(dir, "sub", "two.txt"), "c d. D!")
	none := filepath.Join(dir, "none")
	for _, tc := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // all of the one, a part of the other
	}{
		{"directory", []string{"-top", "3", dir}, 0, "        3  a\n        2  b\n        2  c\n        9  words, 4 different\n", ""},
		{"file", []string{one}, 0, "        3  a\n        2  b\n        1  c\n        6  words, 3 different\n", ""},
		{"missing", []string{"-top", "1", none, one}, 1, "        3  a\n        6  words, 3 different\n", "none"},
		{"no arguments", nil, 2, "", "usage: wordcount"},
		{"help", []string{"-h"}, 0, "", "usage: wordcount"},
		{"workers", []string{"-workers", "-1", one}, 1, "", "MaxWorkers"},
	} {
		stdout, stderr, code := cmdtest.Run(t, tc.args...)
		if code != tc.code || stdout != tc.stdout || !strings.Contains(stderr, tc.stderr) {
			t.Errorf("%s: exit code %d, want %d, and got\n%swant\n%sand %q in\n%s", tc.name, code, tc.code, stdout, tc.stdout, tc.stderr, stderr)
		}
	}
}
