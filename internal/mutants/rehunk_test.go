package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// files are the files of a tree by their path. An empty text stands for no file.
type files map[string]string

// module is a git repository with one commit, in which the mutants of its list apply.
type module struct {
	t   *testing.T
	dir string
}

const testList = listDir + "/p.mutants"

func newModule(t *testing.T, fs files, list string) module {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	for _, name := range []string{"GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX"} { // set in a hook
		t.Setenv(name, "")
		os.Unsetenv(name)
	}
	m := module{t, t.TempDir()}
	m.git("init", "--quiet")
	m.write(fs)
	m.write(files{testList: list})
	m.commit()
	if report, err := m.rehunk(); err != nil || strings.Contains(report, "rewritten, 1") || m.list() != list {
		t.Fatalf("the list does not apply before the change: %v\n%s", err, report)
	}
	return m
}

func (m module) git(args ...string) {
	m.t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@x", "-c", "core.autocrlf=false"}, args...)...)
	cmd.Dir = m.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (m module) commit() {
	m.t.Helper()
	m.git("add", "--all")
	m.git("commit", "--quiet", "--no-verify", "--message", "x")
}

func (m module) write(fs files) {
	m.t.Helper()
	writeFiles(m.t, m.dir, fs)
}

// writeFiles writes the files to dir, and removes those with an empty text.
func writeFiles(t *testing.T, dir string, fs files) {
	t.Helper()
	for name, text := range fs {
		name = filepath.Join(dir, name)
		if text == "" {
			if err := os.Remove(name); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func (m module) list() string {
	m.t.Helper()
	b, err := os.ReadFile(filepath.Join(m.dir, testList))
	if err != nil {
		m.t.Fatal(err)
	}
	return string(b)
}

func (m module) rehunk(args ...string) (report string, err error) {
	m.t.Helper()
	var out bytes.Buffer
	err = rehunkCommand(&out, m.dir, args)
	return out.String(), err
}

// table writes a table of renames and returns its path.
func (m module) table(lines string) string {
	m.t.Helper()
	name := filepath.Join(m.t.TempDir(), "table")
	if err := os.WriteFile(name, []byte(lines), 0o600); err != nil {
		m.t.Fatal(err)
	}
	return name
}

// list returns a list of one mutant with this text after its test line.
func list(hunks string) string {
	return "# Bugs of p.\n\nmutant m\nwhy    w\ntest   ./p -tags a -run TestA|TestB -short\n" + hunks
}

const (
	pushGo = `package p

// push appends.
func push(q *queue) {
	q.lock()
	q.n++ // E1: published
	q.unlock()
}
`
	ones  = "\tx = 1\n\tx = 1\n\tx = 1\n\tx = 1\n\tx = 1\n\tx = 1\n\tx = 1\n"
	popGo = `package p

func pop(q *queue) {
	q.lock()
	q.n-- // I1
	q.unlock()
}
`
)

// TestRehunk: a hunk follows its code, names of tests are renamed, and all other lines
// of a list stay the same.
func TestRehunk(t *testing.T) {
	pushList := list("file   p/push.go\n \tq.lock()\n-\tq.n++ // E1: published\n+\tq.n += 2 // E1: published\n \tq.unlock()\n")
	for _, tc := range []struct {
		name   string
		old    files
		list   string
		now    files
		rename string
		want   string
	}{
		{
			name: "unchanged",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/pop.go": popGo},
			want: pushList,
		},
		{
			name: "renamed file",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/push.go": "", "p/queue_push.go": pushGo},
			want: strings.Replace(pushList, "p/push.go", "p/queue_push.go", 1),
		},
		{
			name: "renamed folder with a copy of the code in another one",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/push.go": "", "q/push.go": pushGo, "r/push.go": strings.Replace(pushGo, "push", "add", 2)},
			want: strings.Replace(pushList, "p/push.go", "q/push.go", 1),
		},
		{
			name: "function in another file of the folder",
			old:  files{"p/push.go": pushGo, "p/pop.go": popGo},
			list: pushList,
			now:  files{"p/push.go": "package p\n\ntype queue struct{ n int }\n", "p/pop.go": popGo + strings.TrimPrefix(pushGo, "package p\n")},
			want: strings.Replace(pushList, "p/push.go", "p/pop.go", 1),
		},
		{
			name: "two hunks of a file that are in two files now",
			old:  files{"p/push.go": pushGo + strings.TrimPrefix(popGo, "package p\n")},
			list: list("file   p/push.go\n-\tq.n++ // E1: published\n\n-\tq.n-- // I1\n+\t_ = q.n\n\nmutant m2\nwhy    w\ntest   ./p -run TestA\nfile   p/push.go\n-\tq.n++ // E1: published\n"),
			now:  files{"p/push.go": pushGo, "p/pop.go": popGo},
			want: list("file   p/push.go\n-\tq.n++ // E1: published\n\nfile   p/pop.go\n-\tq.n-- // I1\n+\t_ = q.n\n\nmutant m2\nwhy    w\ntest   ./p -run TestA\nfile   p/push.go\n-\tq.n++ // E1: published\n"),
		},
		{
			name: "function with a new name that the table does not have",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/push.go": strings.Replace(pushGo, "push(", "enqueue(", 1)},
			want: pushList,
		},
		{
			name: "two files of a mutant",
			old:  files{"p/push.go": pushGo, "p/pop.go": popGo},
			list: list("file   p/push.go\n-\tq.n++ // E1: published\nfile   p/pop.go\n-\tq.n-- // I1\n"),
			now:  files{"p/push.go": "", "p/a.go": pushGo, "p/pop.go": "", "p/b.go": popGo},
			want: list("file   p/a.go\n-\tq.n++ // E1: published\nfile   p/b.go\n-\tq.n-- // I1\n"),
		},
		{
			name:   "renamed identifiers and tests",
			old:    files{"p/push.go": pushGo},
			list:   list("file   p/push.go\n-\tq.lock()\n-\tq.n++ // E1: published\n+\tq.n = q.twig()\n+\tq.lock()\n"),
			now:    files{"p/push.go": strings.NewReplacer("lock()", "acquire()", "q.n", "q.length", "push", "enqueue").Replace(pushGo)},
			rename: "lock\tacquire\nunlock\tunacquire\nn\tlength\ntwig\tnode\nTestB\tTestC\nTest\tx\n# a comment\n",
			want:   strings.Replace(list("file   p/push.go\n-\tq.acquire()\n-\tq.length++ // E1: published\n+\tq.length = q.node()\n+\tq.acquire()\n"), "TestB", "TestC", 1),
		},
		{
			name:   "a word with two meanings, and one that this file keeps",
			old:    files{"p/a.go": "package p\n\nfunc a() {\n\tturn()\n\tturn(1)\n\tgone()\n}\n"},
			list:   list("file   p/a.go\n-\tturn()\n+\tturn(0)\n-\tturn(1)\n+\tturn(2)\n+\tgone()\n"),
			now:    files{"p/a.go": "package p\n\nfunc a() {\n\tpass()\n\tcontrol(1)\n\tgone()\n}\n"},
			rename: "turn\tpass\nturn\tcontrol\ngone\tleft\n",
			want:   list("file   p/a.go\n-\tpass()\n+\tpass(0)\n-\tcontrol(1)\n+\tcontrol(2)\n+\tgone()\n"),
		},
		{
			name: "reworded comment at the end of a line",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/push.go": strings.Replace(pushGo, "E1: published", "E1: publishes the node", 1)},
			want: strings.ReplaceAll(pushList, "E1: published", "E1: publishes the node"),
		},
		{
			name: "deleted comment",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/push.go": strings.Replace(pushGo, " // E1: published", "", 1)},
			want: strings.ReplaceAll(pushList, " // E1: published", ""),
		},
		{
			name: "reworded comment lines between lines of code",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n\tb()\n\t// One.\n\n\tc()\n\td()\n}\n"},
			list: list("file   p/a.go\n \tb()\n-\t// One.\n-\n-\tc()\n+\tx()\n \td()\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n\tb()\n\t// Two,\n\t// three.\n\tc()\n\n\t// Four.\n\td()\n}\n"},
			want: list("file   p/a.go\n \tb()\n-\t// Two,\n-\t// three.\n-\tc()\n+\tx()\n \n \t// Four.\n \td()\n"),
		},
		{
			name: "reworded comment lines at both ends",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n\t// One.\n\tc()\n\t// Two.\n}\n"},
			list: list("file   p/a.go\n \t// One.\n-\tc()\n \t// Two.\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n\t// Before,\n\t// one more.\n\tc()\n\t// After.\n\t// End.\n}\n"},
			want: list("file   p/a.go\n \t// one more.\n-\tc()\n \t// After.\n"),
		},
		{
			name: "copy in another function of the folder",
			old:  files{"p/push.go": pushGo},
			list: pushList,
			now:  files{"p/push.go": strings.Replace(pushGo, "published", "new", 1), "p/add.go": strings.Replace(pushGo, "push(", "add(", 1)},
			want: strings.ReplaceAll(pushList, "published", "new"),
		},
		{
			name: "copies in other functions, which all move to one file",
			old:  files{"p/push.go": pushGo, "p/add.go": strings.Replace(pushGo, "push(", "add(", 1)},
			list: pushList,
			now: files{
				"p/push.go": "", "p/add.go": "",
				"p/all.go": strings.NewReplacer("push(", "add(", "published", "new").Replace(pushGo) +
					"\n" + strings.Replace(strings.TrimPrefix(pushGo, "package p\n\n"), "published", "new", 1),
			},
			want: strings.NewReplacer("push.go\n", "all.go\n func push(q *queue) {\n", "published", "new").Replace(pushList),
		},
		{
			name: "the same function in two files for two builds",
			old:  files{"p/push.go": pushGo, "p/push_model.go": "//go:build interleave\n\n" + pushGo},
			list: pushList,
			now: files{
				"p/push.go":       strings.Replace(pushGo, "published", "new", 1),
				"p/push_model.go": "//go:build interleave\n\n" + strings.Replace(pushGo, "published", "new", 1),
			},
			want: strings.ReplaceAll(pushList, "published", "new"),
		},
		{
			name: "two copies in one function, and the neighbours decide",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n\tone()\n\tx = 1 // First.\n\ttwo()\n\tx = 1\n\tthree()\n}\n"},
			list: list("file   p/a.go\n-\tx = 1 // First.\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n\tzero()\n\tone()\n\tx = 1 // New.\n\ttwo()\n\tx = 1\n\tthree()\n}\n"},
			want: list("file   p/a.go\n-\tx = 1 // New.\n"),
		},
		{
			name: "many copies in one function, and the comment decides",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n" + ones + "\tx = 1 // One.\n" + ones + "}\n"},
			list: list("file   p/a.go\n-\tx = 1 // One.\n+\tx = 2\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n" + ones + "\tx = 1\n\tx = 1 // One.\n" + ones + "}\n"},
			want: list("file   p/a.go\n-\tx = 1 // One.\n+\tx = 2\n"),
		},
		{
			name: "hunk that needs a line of context more",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n\tb()\n\tx = 1 // First.\n}\n\nfunc c() {\n\td()\n\tx = 1\n}\n"},
			list: list("file   p/a.go\n-\tx = 1 // First.\n+\tx = 2\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n\tb()\n\tx = 1\n}\n\nfunc c() {\n\td()\n\tx = 1\n}\n"},
			want: list("file   p/a.go\n \tb()\n-\tx = 1\n+\tx = 2\n"),
		},
		{
			name: "strings with slashes, and a raw string of several lines",
			old:  files{"p/a.go": "package p\n\nvar a = \"http://a\" // A.\nvar b = `\n// no comment\n`\n"},
			list: list("file   p/a.go\n-var a = \"http://a\" // A.\n+var a = \"http://b\" // A.\n-var b = `\n-// no comment\n-`\n"),
			now:  files{"p/a.go": "package p\n\nvar a = \"http://a\" // B.\nvar b = `\n// no comment\n`\n"},
			want: list("file   p/a.go\n-var a = \"http://a\" // B.\n+var a = \"http://b\" // B.\n-var b = `\n-// no comment\n-`\n"),
		},
		{
			name: "white space",
			old:  files{"p/a.go": "package p\n\nvar (\n\ta = 1\n\tb = 2\n)\n"},
			list: list("file   p/a.go\n-\ta = 1\n \tb = 2\n"),
			now:  files{"p/a.go": "package p\n\nvar (\n\ta   = 1\n\tb   = 2\n\tlong = 3\n)\n"},
			want: list("file   p/a.go\n-\ta   = 1\n \tb   = 2\n"),
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newModule(t, tc.old, tc.list)
			m.write(tc.now)
			args := []string{"-rename", m.table(tc.rename)}
			if report, err := m.rehunk(append(args, "-n")...); err != nil || m.list() != tc.list {
				t.Fatalf("with -n: %v\n%s", err, report)
			}
			report, err := m.rehunk(args...)
			if got := m.list(); got != tc.want || err != nil {
				t.Fatalf("error %v, got:\n%s\nwant:\n%s\n%s", err, got, tc.want, report)
			}
			if report, err := m.rehunk(args...); err != nil || m.list() != tc.want {
				t.Errorf("a second run: %v\n%s\n%s", err, report, m.list())
			}
			m.commit()
			if report, err := m.rehunk("-old", "HEAD~1"); err != nil || m.list() != tc.want {
				t.Errorf("a run after the commit: %v\n%s\n%s", err, report, m.list())
			}
		})
	}
}

// TestRehunkFails: a hunk whose place is not certain is reported and not changed.
func TestRehunkFails(t *testing.T) {
	pushHunk := "file   p/push.go\n-\tq.n++ // E1: published\n"
	for _, tc := range []struct {
		name   string
		old    files
		list   string
		now    files
		rename string
		want   string
	}{
		{
			name: "changed code",
			old:  files{"p/push.go": pushGo},
			list: list(pushHunk),
			now:  files{"p/push.go": strings.Replace(pushGo, "q.n++", "q.n += 1", 1)},
			want: "p.mutants:7: mutant m: the code of func push of p/push.go is not in the work tree",
		},
		{
			name: "changed code with an old copy in another function",
			old:  files{"p/push.go": pushGo, "p/add.go": strings.Replace(pushGo, "push(", "add(", 1)},
			list: list(pushHunk),
			now:  files{"p/push.go": strings.Replace(pushGo, "q.n++", "q.n += 1", 1)},
			want: "p.mutants:7: mutant m: the code of func push of p/push.go is not in the work tree",
		},
		{
			name: "changed code with an old copy in the same function",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n\tone()\n\tx = 1 // First.\n\ttwo()\n\tx = 1\n\tthree()\n}\n"},
			list: list("file   p/a.go\n-\tx = 1 // First.\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n\tone()\n\tx = 2 // First.\n\ttwo()\n\tx = 1\n\tthree()\n}\n"},
			want: "the code of func a of p/a.go is not in the work tree",
		},
		{
			name: "changed code with a new copy in another function",
			old:  files{"p/push.go": pushGo},
			list: list(pushHunk),
			now:  files{"p/push.go": strings.Replace(pushGo, "q.n++", "q.n += 1", 1), "p/add.go": strings.Replace(pushGo, "push(", "add(", 1)},
			want: "p.mutants:7: mutant m: the code of func push of p/push.go is not in the work tree",
		},
		{
			name: "hunk of comments",
			old:  files{"p/push.go": pushGo},
			list: list("file   p/push.go\n-// push appends.\n"),
			now:  files{"p/push.go": strings.Replace(pushGo, "appends", "pushes", 1)},
			want: "p.mutants:7: mutant m: the hunk has no code",
		},
		{
			name: "two copies, and nothing decides",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n\tx = 1\n}\n"},
			list: list("file   p/a.go\n-\tx = 1\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n\tx = 1 // One.\n\tx = 1 // Two.\n}\n"},
			want: "the code of func a of p/a.go is in several places, and its neighbours do not decide: p/a.go:4, p/a.go:5",
		},
		{
			name: "two old copies whose comments are reworded, and nothing decides",
			old:  files{"p/a.go": "package p\n\nfunc a() {\n" + ones + "\tx = 1 // One.\n" + ones + "}\n"},
			list: list("file   p/a.go\n-\tx = 1 // One.\n"),
			now:  files{"p/a.go": "package p\n\nfunc a() {\n" + ones + "\tx = 1 // Two.\n" + ones + "}\n"},
			want: "is in several places",
		},
		{
			name:   "added name with two new names",
			old:    files{"p/push.go": pushGo},
			list:   list(pushHunk + "+\tturn()\n"),
			now:    files{"p/push.go": strings.Replace(pushGo, "published", "new", 1)},
			rename: "turn\tpass\nturn\tcontrol\n",
			want:   "turn of an added line has several new names: pass, control",
		},
		{
			name:   "test with two new names",
			old:    files{"p/push.go": pushGo},
			list:   list(pushHunk),
			rename: "TestB\tTestC\nTestB\tTestD\n",
			want:   "p.mutants:5: mutant m: TestB has several new names: TestC, TestD",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := newModule(t, tc.old, tc.list)
			m.write(tc.now)
			report, err := m.rehunk("-rename", m.table(tc.rename))
			if !errors.Is(err, errHunks) || !strings.Contains(report, tc.want) || !strings.Contains(report, " 1 failed\n") {
				t.Errorf("error %v, report:\n%s\nwant %s", err, report, tc.want)
			}
			if got := m.list(); got != tc.list {
				t.Errorf("the hunk that failed has changed:\n%s", got)
			}
		})
	}
}

// TestDeclarations: each line has the name of the top-level declaration around it.
func TestDeclarations(t *testing.T) {
	text := `package p

import "fmt"

type ( // T
	T struct{}
)

const ()
const a, b = 1, 2

func f() {

}

func (t T) f() {}
func (t *T) g() {}
func (x *X[K]) h() {}
func (y Y[K, V]) h() {}
func (struct{}) i() {}
`
	want := []string{
		"", "", "import", "", "type T", "type T", "type T", "", "const", "const a", "",
		"func f", "func f", "func f", "", "func T.f", "func T.g", "func X.h", "func Y.h", "func .i", "",
	}
	lines := strings.Split(text, "\n")
	got := declarations(text, len(lines))
	for i, line := range lines {
		if got[i] != want[i] {
			t.Errorf("line %d %q: %q, want %q", i+1, line, got[i], want[i])
		}
	}
	for _, name := range declarations("package", 3) {
		if name != "" {
			t.Errorf("a text with errors has the declaration %q", name)
		}
	}
}

// TestRehunkOldList: a list may name the new file already. A hunk that is not in the
// revision fails unless it applies to the work tree.
func TestRehunkOldList(t *testing.T) {
	hunks := list("file   p/push.go\n-\tq.n++ // E1: published\n")
	m := newModule(t, files{"p/push.go": pushGo}, hunks)
	m.write(files{"p/push.go": "", "p/add.go": strings.Replace(pushGo, "published", "new", 1)})
	m.write(files{testList: strings.Replace(hunks, "push.go", "add.go", 1)})
	want := list("file   p/add.go\n-\tq.n++ // E1: new\n")
	if report, err := m.rehunk(); err != nil || m.list() != want {
		t.Errorf("error %v, got:\n%s\nwant:\n%s\n%s", err, m.list(), want, report)
	}
	m.write(files{testList: list("file   p/add.go\n-\tq.n++ // E2: newer\n")})
	report, err := m.rehunk()
	if want := "p/push.go of HEAD has these lines 0 times"; !errors.Is(err, errHunks) || !strings.Contains(report, want) {
		t.Errorf("error %v, report:\n%s\nwant %s", err, report, want)
	}
}

// TestRehunkOverlap: hunks of one mutant that do not apply together are reported.
func TestRehunkOverlap(t *testing.T) {
	m := newModule(t, files{"p/push.go": pushGo}, list("file   p/push.go\n-\tq.lock()\n\n-\tq.n++ // E1: published\n"))
	again := "\nfunc again(q *queue) {\n\tq.n++\n}\n"
	m.write(files{"p/push.go": strings.Replace(pushGo, " // E1: published", "", 1) + again})
	report, err := m.rehunk()
	if want := "p.mutants: mutant m no longer applies"; !errors.Is(err, errHunks) || !strings.Contains(report, want) {
		t.Errorf("error %v, report:\n%s\nwant %s", err, report, want)
	}
}

// TestRehunkDry: -n prints the new hunks, each with its mutant and its file.
func TestRehunkDry(t *testing.T) {
	m := newModule(t, files{"p/push.go": pushGo}, list("file   p/push.go\n-\tq.n++ // E1: published\n+\tq.n += 2\n"))
	m.write(files{"p/push.go": "", "p/add.go": pushGo})
	report, err := m.rehunk("-n")
	want := "p.mutants:7: mutant m: p/add.go\n-\tq.n++ // E1: published\n+\tq.n += 2\n\nrehunk: 0 hunks unchanged, 1 rewritten, 0 failed\n"
	if report != want || err != nil {
		t.Errorf("error %v, got:\n%s\nwant:\n%s", err, report, want)
	}
}

func TestRehunkUsage(t *testing.T) {
	for _, lines := range []string{"a\n", "a\t\n", "\tb\n", "a\tb\tc\n", "a.b\tc\n", "a b\tc\n"} {
		if _, err := parseRenames("ok\tfine\n\n" + lines); err == nil || !strings.HasPrefix(err.Error(), "3: ") {
			t.Errorf("table %q: error %v", lines, err)
		}
	}
	m := newModule(t, files{"p/push.go": pushGo}, list("file   p/push.go\n-\tq.n++ // E1: published\n"))
	if _, err := m.rehunk("more"); !errors.Is(err, errUsage) {
		t.Errorf("an argument: error %v", err)
	}
	if _, err := m.rehunk("-rename", m.table("a\n")); err == nil || !strings.Contains(err.Error(), ":1: not two words") {
		t.Errorf("a table with an error: error %v", err)
	}
	if _, err := m.rehunk("-rename", "nothing"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such table: error %v", err)
	}
	if _, err := m.rehunk("-old", "nothing"); err == nil || !strings.Contains(err.Error(), "git archive") {
		t.Errorf("no such revision: error %v", err)
	}
	m.write(files{testList: "hello\n"})
	if _, err := m.rehunk(); err == nil || !strings.HasPrefix(err.Error(), "p.mutants:1: ") {
		t.Errorf("no list: error %v", err)
	}
}
