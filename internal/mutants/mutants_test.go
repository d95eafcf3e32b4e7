package main

import (
	"bytes"
	"context"
	"errors"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// TestMutants: each mutant applies to the tree, the changed file is still Go, and the
// tests of the mutant exist and are not random.
func TestMutants(t *testing.T) {
	ms, err := all()
	if err != nil {
		t.Fatal(err)
	}
	if len(ms) < 45 {
		t.Errorf("%d mutants, want at least 45", len(ms))
	}
	seen := map[string]bool{}
	tests := map[string]string{} // the text of all test files, by directory
	for _, m := range ms {
		if seen[m.name] {
			t.Errorf("there are two mutants %s", m.name)
		}
		seen[m.name] = true
		files, err := m.apply(root)
		if err != nil {
			t.Errorf("mutant %s %v", m.name, err)
			continue
		}
		for name, text := range files {
			if _, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("mutant %s: %v", m.name, err)
			}
			if strings.HasSuffix(name, "_test.go") {
				t.Errorf("mutant %s changes the test %s", m.name, name)
			}
		}
		if tests[m.test.dir] == "" {
			tests[m.test.dir] = testFiles(t, m.test.dir)
		}
		for name := range strings.SplitSeq(m.test.names, "|") {
			_, body, ok := strings.Cut(tests[m.test.dir], "\nfunc "+name+"(t *testing.T) {\n")
			if !ok {
				t.Errorf("mutant %s: %s has no test %s", m.name, m.test.dir, name)
			}
			if body, _, _ = strings.Cut(body, "\n}\n"); strings.Contains(body, "rapid.") {
				t.Errorf("mutant %s: %s is random, and would write its failures into the tree", m.name, name)
			}
		}
	}
}

// testFiles returns the text of all test files of a package.
func testFiles(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var all bytes.Buffer
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}

// TestLabels: each fault that the design names has a mutant.
func TestLabels(t *testing.T) {
	ms, err := all()
	if err != nil {
		t.Fatal(err)
	}
	var why strings.Builder
	for _, m := range ms {
		why.WriteString(m.why + "\n")
	}
	for _, label := range []string{"B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "X-31", "ABA", "memory order"} {
		if !regexp.MustCompile(`\b` + label + `\b`).MatchString(why.String()) {
			t.Errorf("no mutant names %s", label)
		}
	}
}

func TestParse(t *testing.T) {
	ms, err := parse("# text\nsound -x\n\nmutant one\nwhy    a bug\n" +
		"test   ./p -tags interleave -short -run TestA|TestB\n" +
		"file   p/a.go\n \tif a {\n-\t\tb()\n+\t\tc()\n \t}\n\n-old\n" +
		"file   p/b.go\n+first\n end\n\nmutant two\nwhy    x\ntest   ./q -run TestC\nfile   q/q.go\n-a\n")
	if err != nil {
		t.Fatal(err)
	}
	if len(ms) != 2 || ms[0].name != "one" || ms[0].why != "a bug" || ms[1].name != "two" {
		t.Fatalf("got %+v", ms)
	}
	if got, want := ms[0].test, (test{"./p", "interleave", true, "TestA|TestB", "-x"}); got != want {
		t.Errorf("test = %+v, want %+v", got, want)
	}
	if got, want := ms[1].test, (test{dir: "./q", names: "TestC"}); got != want {
		t.Errorf("test = %+v, want %+v", got, want)
	}
	want := []edit{
		{"p/a.go", "\tif a {\n\t\tb()\n\t}\n", "\tif a {\n\t\tc()\n\t}\n"},
		{"p/a.go", "old\n", ""},
		{"p/b.go", "end\n", "first\nend\n"},
	}
	if len(ms[0].edits) != len(want) {
		t.Fatalf("edits = %q, want %q", ms[0].edits, want)
	}
	for i, e := range ms[0].edits {
		if e != want[i] {
			t.Errorf("edit %d = %q, want %q", i, e, want[i])
		}
	}
}

func TestParseErrors(t *testing.T) {
	const good = "mutant m\nwhy    w\ntest   ./p -run TestA\nfile   a\n-x\n"
	if _, err := parse(good); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"hello\n",
		"why    w\n",
		"-x\n",
		"mutant m\n-x\n",
		strings.Replace(good, "why    w\n", "", 1),
		strings.Replace(good, "-run TestA", "", 1),
		strings.Replace(good, "-run", "-count 1 -run", 1),
		strings.Replace(good, "TestA", "TestA TestB", 1),
		strings.Replace(good, "-x\n", "", 1),
		good + "sound -x\n",
	} {
		if ms, err := parse(text); err == nil {
			t.Errorf("no error for %q: %+v", text, ms)
		}
	}
}

func TestApply(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("one\ntwo\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name  string
		edits []edit
		want  string
		fails bool
	}{
		{"first line", []edit{{"a", "one\n", "1\n"}}, "1\ntwo\ntwo\nthree\n", false},
		{"last line is deleted", []edit{{"a", "three\n", ""}}, "one\ntwo\ntwo\n", false},
		{"two edits", []edit{{"a", "one\n", "1\n"}, {"a", "1\ntwo\n", "x\n"}}, "x\ntwo\nthree\n", false},
		{"part of a line", []edit{{"a", "wo\n", "\n"}}, "", true},
		{"twice", []edit{{"a", "two\n", "2\n"}}, "", true},
		{"absent", []edit{{"a", "four\n", "4\n"}}, "", true},
		{"no such file", []edit{{"b", "one\n", "1\n"}}, "", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			files, err := (&mutant{name: "m", edits: tc.edits}).apply(dir)
			if (err != nil) != tc.fails || err != nil && !strings.Contains(err.Error(), "no longer applies") {
				t.Fatalf("error = %v, want an error: %t", err, tc.fails)
			}
			if files["a"] != tc.want {
				t.Errorf("got %q, want %q", files["a"], tc.want)
			}
		})
	}
}

func TestKiller(t *testing.T) {
	for _, tc := range []struct{ name, out, want string }{
		{"passed, and then exit 1", "=== RUN   TestA\n--- PASS: TestA (0.01s)\nPASS\n", ""},
		{"failed", "=== RUN   TestA\n    a_test.go:1: x\n--- FAIL: TestA (0.01s)\nFAIL\n", "TestA"},
		{"first of two", "--- FAIL: TestA (0.01s)\n--- FAIL: TestB (0.01s)\n", "TestA"},
		{"subtest", "=== RUN   TestA\n=== RUN   TestA/b\n--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/b (0.00s)\n", "TestA"},
		{"panic elsewhere", "=== RUN   TestA\n--- PASS: TestA (0.01s)\n=== RUN   TestB\npanic: x\n\ngoroutine 7\n", "TestB"},
		{"timeout", "=== RUN   TestA\npanic: test timed out after 3m0s\n\trunning tests:\n\t\tTestA (3m0s)\n", ""},
		{"no test", "exit status 2\n", ""},
	} {
		if got, err := killer(tc.out); got != tc.want || (err == nil) != (got != "") {
			t.Errorf("%s: killer = %q, %v, want %q", tc.name, got, err, tc.want)
		}
	}
}

// TestRun: a mutant is killed, survives, does not compile, or has no verdict because its
// test fails without it.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := t.TempDir()
	writeFiles(t, dir, files{
		"go.mod":    "module m\n\ngo 1.26\n",
		"m.go":      "package m\n\nfunc double(x int) int {\n\treturn x + x\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif double(2) != 4 {\n\t\tt.Error()\n\t}\n}\n\nfunc TestBad(t *testing.T) { t.Error() }\n",
		// The name of a package that is not in its path: prune does not find its use, and the
		// whole test is built.
		"odd/odd.go": "package even\n\nconst Two = 2\n",
		"o_test.go":  "package m\n\nimport (\n\t\"m/odd\"\n\t\"testing\"\n)\n\nfunc TestOdd(t *testing.T) {\n\tif double(even.Two) != 4 {\n\t\tt.Error()\n\t}\n}\n",
	})
	list := ""
	for name, line := range map[string]string{"1": "0", "2": "x * x", "3": "y"} {
		list += "mutant m" + name + "\nwhy    x\ntest   . -run TestTwo\nfile   m.go\n-\treturn x + x\n+\treturn " + line + "\n\n"
	}
	for name, test := range map[string]string{"4": "TestBad", "5": "TestOdd"} {
		list += "mutant m" + name + "\nwhy    x\ntest   . -run " + test + "\nfile   m.go\n-\treturn x + x\n+\treturn 0\n\n"
	}
	ms, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := tryAll(&out, newRunner(context.Background(), dir, t.TempDir()), ms, 2, false); !errors.Is(err, errNotAll) {
		t.Errorf("error = %v, want %v", err, errNotAll)
	}
	for _, want := range []string{
		"mutant m1 killed by TestTwo\n",
		"mutant m2 survived\n",
		"mutant m3 does not compile: ",
		"mutant m4 has no verdict: TestBad does not pass without it",
		"mutant m5 killed by TestOdd\n",
		"mutants: 2 of 5 killed\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, out.String())
		}
	}
}

// TestPrune: the declarations that a test needs are kept with their lines, and no other.
func TestPrune(t *testing.T) {
	const a = `package p

import (
	"math/rand/v2"
	"os"
	str "strings"
	"testing"
)

const (
	one = iota
	two
)

// Not needed.
//
//go:noinline
func unused() { os.Exit(two) }

type kind int

func (k kind) String() string { return str.Repeat("x", helper(rand.N(3))) }
func (q *outer) method()      {}
func (q *outer) other()       {}

func TestA(t *testing.T) {
	var k kind
	f(&k).method()
	run("-test.run=^TestChild$", "os")
}
`
	const want = `package p

import (
	"math/rand/v2"
	_ "os"
	str "strings"
	"testing"
)











type kind int

func (k kind) String() string { return str.Repeat("x", helper(rand.N(3))) }
func (q *outer) method()      {}


func TestA(t *testing.T) {
	var k kind
	f(&k).method()
	run("-test.run=^TestChild$", "os")
}
`
	dir := t.TempDir()
	writeFiles(t, dir, files{
		"p/a_test.go": a,
		"p/b_test.go": "package p\n\nfunc TestMain(m *testing.M) { m.Run() }\nfunc helper(n int) int { return n }\nfunc TestB() {}\nfunc TestChild() {}\n",
		"p/c_test.go": "package p_test\n\nfunc TestC() { TestA() }\n",
		"p/d_test.go": "//go:build tag\n\npackage p\n\nfunc init() {}\n",
		"p/e_test.go": "//go:build !tag\n\npackage p\n\nfunc init() {}\n",
		"p/code.go":   "package p\n\nfunc init() {}\n",
	})
	pruned, err := prune(dir, test{dir: "./p", tags: "tag", names: "TestA"})
	if err != nil {
		t.Fatal(err)
	}
	// Declarations that are not needed leave their lines blank.
	blank := regexp.MustCompile(`(?m)[ \t]+$`)
	for name, text := range pruned {
		pruned[name] = blank.ReplaceAllString(text, "")
	}
	for name, want := range map[string]string{
		"p/a_test.go": want,
		"p/b_test.go": "package p\n\nfunc TestMain(m *testing.M) { m.Run() }\nfunc helper(n int) int { return n }\n\nfunc TestChild() {}\n",
		"p/c_test.go": "",
		"p/d_test.go": "//go:build tag\n\npackage p\n\nfunc init() {}\n",
	} {
		if got, ok := pruned[name]; !ok || got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if len(pruned) != 4 {
		t.Errorf("%d files, want the 4 that the tags select", len(pruned))
	}
}

func TestList(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out, []string{"-list", "-only", "push-.*"}); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines < 2 || lines != strings.Count("\n"+out.String(), "\npush-") {
		t.Errorf("-list -only 'push-.*' prints:\n%s", out.String())
	}
	if err := run(context.Background(), &out, []string{"-only", "none of that name"}); !errors.Is(err, errNoMutant) {
		t.Errorf("error = %v, want %v", err, errNoMutant)
	}
}

// TestParted: each mutant is in exactly one of the n parts.
func TestParted(t *testing.T) {
	var ms []mutant
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		ms = append(ms, mutant{name: name})
	}
	for part, want := range map[string]string{"1/1": "abcde", "1/2": "ace", "2/2": "bd", "3/3": "c"} {
		some, err := parted(ms, part)
		got := ""
		for _, m := range some {
			got += m.name
		}
		if got != want || err != nil {
			t.Errorf("part %s: got %s, %v, want %s", part, got, err, want)
		}
	}
	for _, part := range []string{"", "0/2", "3/2", "1", "x/y", "1/0"} {
		if _, err := parted(ms, part); err == nil {
			t.Errorf("part %q is accepted", part)
		}
	}
}
