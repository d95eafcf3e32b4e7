package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// test is one function TestModel… of a test binary.
type test struct {
	dir, binary, name string
	models            []model       // of its last run
	used              time.Duration // processor time of all runs
}

// find builds the test binaries of dirs into tmp and lists their tests. Without dirs it
// takes all directories with model tests.
func find(ctx context.Context, tmp string, dirs []string, pattern *regexp.Regexp) (tests []*test, err error) {
	if len(dirs) == 0 {
		if dirs, err = modelDirs("."); err != nil {
			return nil, err
		}
	}
	for i, dir := range dirs {
		binary := filepath.Join(tmp, strconv.Itoa(i)+".test")
		if _, err := output(exec.CommandContext(ctx, "go", "test", "-c", "-tags", "interleave", "-o", binary, dir)); err != nil {
			return nil, fmt.Errorf("build %s: %w", dir, err)
		}
		list := exec.CommandContext(ctx, binary, "-test.list", "^TestModel")
		list.Dir = dir
		names, err := output(list)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", dir, err)
		}
		for name := range strings.FieldsSeq(names) {
			if pattern.MatchString(name) {
				tests = append(tests, &test{dir: dir, binary: binary, name: name})
			}
		}
	}
	if len(tests) == 0 {
		return nil, errors.New("found no model tests")
	}
	return tests, nil
}

// modelDirs returns the directories below root that have files of model tests.
func modelDirs(root string) (dirs []string, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if dir := "./" + filepath.ToSlash(filepath.Dir(path)); strings.HasSuffix(path, "_model_test.go") && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	return dirs, err
}

// output runs c and returns its output. If c fails, the output is part of the error.
func output(c *exec.Cmd) (string, error) {
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, out)
	}
	return string(out), nil
}
