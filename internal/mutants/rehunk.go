package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// listDir is the folder of the lists in the module.
const listDir = "internal/mutants"

var errHunks = errors.New("edit these hunks by hand: they are as they were")

// rehunkCommand runs "mutants rehunk" with these arguments for the module at root.
func rehunkCommand(out io.Writer, root string, args []string) error {
	fs := flag.NewFlagSet("mutants rehunk", flag.ContinueOnError)
	dry := fs.Bool("n", false, "print the hunks that change, and write nothing")
	rev := fs.String("old", "HEAD", "the last `revision` in which all mutants apply")
	table := fs.String("rename", "", "a `file` with lines \"old<TAB>new\": renamed identifiers and tests")
	if err := fs.Parse(args); err != nil || fs.NArg() > 0 {
		return errUsage
	}
	var names renames
	if *table != "" {
		text, err := os.ReadFile(*table)
		if err != nil {
			return err
		}
		if names, err = parseRenames(string(text)); err != nil {
			return fmt.Errorf("%s:%w", *table, err)
		}
	}
	r, err := newRehunk(root, *rev, names)
	if err != nil {
		return err
	}
	return r.lists(out, *dry)
}

// rehunk rewrites hunks of a revision for the work tree.
type rehunk struct {
	root    string
	rev     string
	names   renames
	old     tree              // the revision
	now     tree              // the work tree
	movedTo map[string]string // the new path of a renamed file of the revision
	was     map[string]string // the inverse of movedTo
}

func newRehunk(root, rev string, names renames) (*rehunk, error) {
	r := &rehunk{
		root: root, rev: rev, names: names,
		old: tree{}, now: tree{},
		movedTo: map[string]string{}, was: map[string]string{},
	}
	if err := r.readRevision(); err != nil {
		return nil, err
	}
	return r, r.readWorkTree()
}

func (r *rehunk) git(env []string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.root
	cmd.Env = append(cmd.Environ(), env...)
	var failure bytes.Buffer
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(failure.Bytes()))
	}
	return string(out), nil
}

func (r *rehunk) readRevision() error {
	archive, err := r.git(nil, "archive", "--format=tar", r.rev)
	if err != nil {
		return err
	}
	for files := tar.NewReader(strings.NewReader(archive)); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		text, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		r.old.add(h.Name, string(text))
	}
}

// readWorkTree reads the files that git tracks or would add, and the renames that git
// detects among them. New files are added to a copy of the index, because git compares
// the revision only with files that are in the index.
func (r *rehunk) readWorkTree() error {
	index, err := r.git(nil, "rev-parse", "--git-path", "index")
	if err != nil {
		return err
	}
	if index = strings.TrimSpace(index); !filepath.IsAbs(index) {
		index = filepath.Join(r.root, index)
	}
	content, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "rehunk-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(tmp) }()
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(tmp, "index")}
	if err := os.WriteFile(filepath.Join(tmp, "index"), content, 0o600); err != nil {
		return err
	}
	if _, err := r.git(env, "add", "--all", "--intent-to-add", "."); err != nil {
		return err
	}
	status, err := r.git(env, "diff", "-z", "--relative", "--find-renames=40%", "--diff-filter=R", "--name-status", r.rev)
	if err != nil {
		return err
	}
	for f := strings.Split(status, "\x00"); len(f) >= 3; f = f[3:] { // R100, the old path, the new path
		r.movedTo[f[1]], r.was[f[2]] = f[2], f[1]
	}
	files, err := r.git(env, "ls-files", "-z", "*.go")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(files, "\x00") {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		switch {
		case name == "" || errors.Is(err, os.ErrNotExist):
		case err != nil:
			return err
		default:
			r.now.add(name, string(text))
		}
	}
	return nil
}

// lists rewrites all lists and prints each failure. If dry is true, it prints the new
// hunks and writes nothing.
func (r *rehunk) lists(out io.Writer, dry bool) error {
	names, err := filepath.Glob(filepath.Join(r.root, listDir, "*.mutants"))
	if err != nil {
		return err
	}
	var total result
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := parse(string(b)); err != nil {
			return fmt.Errorf("%s:%w", filepath.Base(name), err)
		}
		res := r.list(filepath.Base(name), string(b))
		total.kept += res.kept
		total.changed = append(total.changed, res.changed...)
		total.failed = append(total.failed, res.failed...)
		if !dry && res.text != string(b) {
			if err := os.WriteFile(name, []byte(res.text), 0o644); err != nil {
				return err
			}
		}
	}
	if dry {
		for _, text := range total.changed {
			_, _ = fmt.Fprintln(out, text)
		}
	}
	for _, text := range total.failed {
		_, _ = fmt.Fprintln(out, "rehunk: "+text)
	}
	_, _ = fmt.Fprintf(out, "rehunk: %d hunks unchanged, %d rewritten, %d failed\n", total.kept, len(total.changed), len(total.failed))
	if len(total.failed) > 0 {
		return errHunks
	}
	return nil
}

// result is the outcome of one list.
type result struct {
	text    string
	kept    int
	changed []string // the new hunks
	failed  []string
}

// list rewrites the hunks of one list and the names of its tests. All other lines are
// copied, and so are hunks that fail.
func (r *rehunk) list(name, text string) (res result) {
	var out []string
	var file, mutant string  // of the line
	var shown string         // the file of the last "file" line of out
	bad := map[string]bool{} // the mutants with a failure
	fail := func(line int, err error) {
		bad[mutant] = true
		res.failed = append(res.failed, fmt.Sprintf("%s:%d: mutant %s: %v", name, line, mutant, err))
	}
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if h := hunkAt(lines[i:]); len(h) > 0 && file != "" {
			to, rewritten, err := r.hunk(file, h)
			switch {
			case err != nil:
				fail(i+1, err)
				to, rewritten = file, h
			case to == file && slices.Equal(rewritten, h):
				res.kept++
			default:
				res.changed = append(res.changed, fmt.Sprintf("%s:%d: mutant %s: %s\n%v\n", name, i+1, mutant, to, rewritten))
			}
			if to != shown {
				if last := len(out) - 1; strings.HasPrefix(out[last], "file ") {
					out = out[:last]
				}
				out = append(out, "file   "+to)
				shown = to
			}
			for _, l := range rewritten {
				out = append(out, l.String())
			}
			i += len(h) - 1
			continue
		}
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "mutant":
			mutant, file = strings.TrimSpace(value), ""
		case "file":
			file = strings.TrimSpace(value)
			shown = file
		case "test":
			var err error
			if line, err = r.names.tests(line); err != nil {
				fail(i+1, err)
			}
		}
		out = append(out, line)
	}
	res.text = strings.Join(out, "\n")
	ms, err := parse(res.text)
	if err != nil {
		fail(0, err)
	}
	for _, m := range ms {
		if _, err := m.apply(r.root); err != nil && !bad[m.name] {
			res.failed = append(res.failed, fmt.Sprintf("%s: mutant %s %v", name, m.name, err))
		}
	}
	return res
}

// hunk returns h rewritten, and the file of the work tree to which it applies.
func (r *rehunk) hunk(file string, h hunk) (string, hunk, error) {
	text := h.before()
	from := file
	if r.old[from] == nil && r.was[from] != "" {
		from = r.was[from] // the list names the new file already
	}
	s := r.old[from]
	start, times := findLines(s, text)
	origin, n := place{file: from}, 0
	if times == 1 {
		origin.at = s.codeAt(start)
		n = s.codeAt(start+len(text)) - origin.at
	}
	if n == 0 { // the list may have been rewritten already
		if _, times := findLines(r.now[file], text); times == 1 {
			return file, h, nil
		}
	}
	switch {
	case times != 1:
		return "", nil, fmt.Errorf("%s of %s has these lines %d times", from, r.rev, times)
	case n == 0:
		return "", nil, errors.New("the hunk has no code")
	}
	p, err := r.locate(origin, n)
	if err != nil {
		return "", nil, err
	}
	rewritten, err := r.rewrite(h, start, move{s, r.now[p.file], origin.at, p.at, n})
	return p.file, rewritten, err
}

// findLines returns how often s contains lines, and the index of the line at which
// they begin the last time. A nil s contains none.
func findLines(s *source, lines []string) (start, times int) {
	if s == nil {
		return 0, 0
	}
	at, times := find(s.text, strings.Join(lines, "\n")+"\n")
	return strings.Count(s.text[:at], "\n"), times
}
