package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The limits of a folder. Files without tests whose names share the part before the
// first underscore are a group: ring.go, ring_split.go.
const (
	maxGroups = 25 // groups and files outside groups
	maxFiles  = 32
)

// crowded lists folders above the limits, and why. An entry that excuses nothing is an
// error.
var crowded = map[string]string{}

// bugFile matches the test files that are named after bugs.
var bugFile = regexp.MustCompile(`^(?:regress|corners)(?:_.*)?_test\.go$`)

// badFolders checks the names of the Go files of a repository. used receives the
// exceptions that excuse a finding.
func badFolders(names []string, used map[string]bool) (bad []string) {
	groups, count := map[string]map[string]bool{}, map[string]int{}
	for _, name := range names {
		dir, base := path.Dir(name), path.Base(name)
		switch {
		case path.Ext(base) != ".go":
		case bugFile.MatchString(base):
			bad = append(bad, name+": name the file after the law or the file that it tests")
		case !strings.HasSuffix(base, "_test.go"):
			if groups[dir] == nil {
				groups[dir] = map[string]bool{}
			}
			prefix, _, _ := strings.Cut(strings.TrimSuffix(base, ".go"), "_")
			groups[dir][prefix] = true
			count[dir]++
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(count)) {
		n, g := count[dir], len(groups[dir])
		switch {
		case n <= maxFiles && g <= maxGroups:
		case crowded[dir] != "":
			used[dir] = true
		default:
			bad = append(bad, fmt.Sprintf("%s: %d files without tests in %d groups, at most %d and %d", dir, n, g, maxFiles, maxGroups))
		}
	}
	return bad
}

// TestFolders checks the size of folders, and that test files have the names of laws.
func TestFolders(t *testing.T) {
	var names []string
	for _, name := range tracked(t) {
		if _, err := os.Stat(filepath.Join(root, name)); err == nil { // deleted files are tracked until the commit
			names = append(names, filepath.ToSlash(name))
		}
	}
	used := map[string]bool{}
	report(t, badFolders(names, used))
	for dir := range crowded {
		if !used[dir] {
			t.Errorf("%s is an exception of folders_test.go and keeps the rules: remove the entry", dir)
		}
	}
	many := func(form string, n int) (list []string) {
		for i := range n {
			list = append(list, fmt.Sprintf(form, 'a'+i%26, i/26))
		}
		return list
	}
	for _, tc := range []struct {
		name  string
		names []string
		want  int
	}{
		{"small", many("p/%c%d.go", 25), 0},
		{"large", many("p/%c%d.go", 26), 1},
		{"grouped", slices.Concat(many("p/%c%d.go", 24), []string{"p/ring.go", "p/ring_a.go", "p/ring_b_amd64.go"}), 0},
		{"too large for groups", many("p/ring_%c%d.go", 33), 1},
		{"tests", slices.Concat(many("p/%c%d.go", 25), many("p/x_%c%d_test.go", 40)), 0},
		{"two folders", slices.Concat(many("p/%c%d.go", 25), many("q/%c%d.go", 25)), 0},
		{"documents", many("p/%c%d.md", 50), 0},
		{"bugs", []string{"p/regress_test.go", "p/corners_test.go", "p/regress_api_test.go", "p/corners_model_test.go"}, 4},
		{"laws", []string{"p/regression.go", "p/corners.go", "p/ring_corners_test.go"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := badFolders(tc.names, map[string]bool{}); len(got) != tc.want {
				t.Errorf("got %d findings %q, want %d", len(got), got, tc.want)
			}
		})
	}
}
