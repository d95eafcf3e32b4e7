package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

//go:embed *.mutants
var lists embed.FS

// mutant is one planted bug.
type mutant struct {
	name  string
	why   string
	test  test
	edits []edit
}

// test names the tests that must fail.
type test struct {
	dir   string // of the package, as in ./sched
	tags  string
	short bool
	names string // of tests, separated by |
	sound string // flags of the run without a mutant
}

// edit replaces whole lines that the file contains once.
type edit struct {
	file     string
	old, new string
}

// all returns the mutants of the embedded lists.
func all() ([]mutant, error) {
	entries, err := lists.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var ms []mutant
	for _, e := range entries {
		text, err := lists.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		list, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s:%w", e.Name(), err)
		}
		ms = append(ms, list...)
	}
	return ms, nil
}

// parse reads a list. Its errors begin with the number of the line.
func parse(text string) (ms []mutant, err error) {
	var sound, file string
	inHunk := false // the line before belongs to the last edit
	for i, line := range strings.Split(text, "\n") {
		key, value, _ := strings.Cut(line, " ")
		value = strings.TrimSpace(value)
		inMutant := len(ms) > 0
		m := &mutant{}
		if inMutant {
			m = &ms[len(ms)-1]
		}
		isHunk := line != "" && strings.ContainsRune(" -+", rune(line[0]))
		switch {
		case isHunk && file != "":
			if !inHunk {
				m.edits = append(m.edits, edit{file: file})
			}
			m.edits[len(m.edits)-1].add(line[0], line[1:])
		case line == "" || line[0] == '#':
		case key == "sound" && !inMutant:
			sound = value
		case key == "mutant" && value != "":
			ms = append(ms, mutant{name: value})
			file = ""
		case key == "why" && inMutant:
			m.why = value
		case key == "test" && inMutant:
			if m.test, err = parseTest(value, sound); err != nil {
				return nil, fmt.Errorf("%d: %w", i+1, err)
			}
		case key == "file" && inMutant:
			file = value
		default:
			return nil, fmt.Errorf("%d: not a line of a list: %q", i+1, line)
		}
		inHunk = isHunk
	}
	for _, m := range ms {
		if m.why == "" || m.test.names == "" || len(m.edits) == 0 {
			return nil, fmt.Errorf("0: mutant %s has no why, no test, or no hunk", m.name)
		}
	}
	return ms, nil
}

func (e *edit) add(kind byte, line string) {
	if kind != '+' {
		e.old += line + "\n"
	}
	if kind != '-' {
		e.new += line + "\n"
	}
}

// parseTest reads the arguments of go test.
func parseTest(args, sound string) (t test, err error) {
	dir, args, _ := strings.Cut(args, " ")
	t.dir = dir
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.StringVar(&t.tags, "tags", "", "")
	fs.BoolVar(&t.short, "short", false, "")
	fs.StringVar(&t.names, "run", "", "")
	if err := fs.Parse(strings.Fields(args)); err != nil {
		return t, err
	}
	if fs.NArg() != 0 || t.names == "" {
		return t, errors.New("test takes a directory, -tags, -short and -run")
	}
	if t.tags == "interleave" {
		t.sound = sound
	}
	return t, nil
}

// apply returns the changed files of the tree at root by their path.
func (m *mutant) apply(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range m.edits {
		text, ok := files[e.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, e.file))
			if err != nil {
				return nil, fmt.Errorf("no longer applies: %w", err)
			}
			text = string(b)
		}
		at, n := find(text, e.old)
		if n != 1 {
			return nil, fmt.Errorf("no longer applies: %s contains these lines %d times:\n%s", e.file, n, e.old)
		}
		files[e.file] = text[:at] + e.new + text[at+len(e.old):]
	}
	return files, nil
}

// find returns how often text contains the whole lines of old, and the offset at which
// they begin the last time.
func find(text, old string) (at, n int) {
	for i := 0; i < len(text); {
		if strings.HasPrefix(text[i:], old) {
			at = i
			n++
		}
		line := strings.IndexByte(text[i:], '\n')
		if line < 0 {
			break
		}
		i += line + 1
	}
	return at, n
}
