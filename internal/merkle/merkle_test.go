package merkle_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lanewright/lanewright/internal/merkle"
)

// walk visits all nodes in one loop, the newest or the oldest first.
func walk(p *merkle.Pass, newest bool) {
	s := merkle.NewScratch()
	queue := []*merkle.Node{p.Root()}
	for len(queue) > 0 {
		var n *merkle.Node
		if newest {
			n, queue = queue[len(queue)-1], queue[:len(queue)-1]
		} else {
			n, queue = queue[0], queue[1:]
		}
		children := n.Visit(s)
		for i := range children {
			queue = append(queue, &children[i])
		}
	}
}

// concurrent visits each node on a goroutine of its own.
func concurrent(p *merkle.Pass) {
	var wg sync.WaitGroup
	var visit func(n *merkle.Node)
	visit = func(n *merkle.Node) {
		children := n.Visit(merkle.NewScratch())
		for i := range children {
			wg.Go(func() { visit(&children[i]) })
		}
	}
	wg.Go(func() { visit(p.Root()) })
	wg.Wait()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
}

func makeTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a"), "alpha")
	write(t, filepath.Join(dir, "empty"), "")
	write(t, filepath.Join(dir, "b", "c", "large"), strings.Repeat("0123456789abcdef", 10_000)) // more than one buffer
	write(t, filepath.Join(dir, "b", "z"), "omega")
	if err := os.Mkdir(filepath.Join(dir, "none"), 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// leaf returns the bytes of one entry of a directory, from the definition of the hash.
func leaf(kind byte, name string, content []byte) []byte {
	sum := sha256.Sum256(content)
	return slices.Concat([]byte{kind, byte(len(name))}, []byte(name), sum[:])
}

// TestSumByHand: the hash is that of the definition, in any order of visits.
func TestSumByHand(t *testing.T) {
	dir := makeTree(t)
	c := leaf('f', "large", []byte(strings.Repeat("0123456789abcdef", 10_000)))
	b := slices.Concat(leaf('d', "c", c), leaf('f', "z", []byte("omega")))
	root := slices.Concat(leaf('f', "a", []byte("alpha")), leaf('d', "b", b), leaf('f', "empty", nil), leaf('d', "none", nil))
	want := merkle.Sum(sha256.Sum256(root))

	for name, run := range map[string]func(*merkle.Pass){
		"newest first": func(p *merkle.Pass) { walk(p, true) },
		"oldest first": func(p *merkle.Pass) { walk(p, false) },
		"concurrent":   concurrent,
	} {
		t.Run(name, func(t *testing.T) {
			p := merkle.NewPass(t.Context(), dir)
			run(p)
			if p.Sum() != want {
				t.Errorf("Sum = %v, want %v", p.Sum(), want)
			}
			if p.Visited() != 8 || p.Files() != 4 || p.Dirs() != 4 || p.Others() != 0 || p.Bytes() != 160_000+10 || len(p.Unreadable()) != 0 {
				t.Errorf("files, dirs, others, bytes = %d, %d, %d, %d, unreadable %v",
					p.Files(), p.Dirs(), p.Others(), p.Bytes(), p.Unreadable())
			}
		})
	}
}

// TestSumChanges: each kind of change in the tree changes the hash.
func TestSumChanges(t *testing.T) {
	dir := makeTree(t)
	sum := func() merkle.Sum {
		p := merkle.NewPass(t.Context(), dir)
		walk(p, true)
		return p.Sum()
	}
	seen := map[merkle.Sum]string{sum(): "nothing"}
	for _, change := range []struct {
		name string
		do   func() error
	}{
		{"content", func() error { return os.WriteFile(filepath.Join(dir, "b", "z"), []byte("Omega"), 0o666) }},
		{"name", func() error { return os.Rename(filepath.Join(dir, "b", "z"), filepath.Join(dir, "b", "y")) }},
		{"kind", func() error {
			return errors.Join(os.Remove(filepath.Join(dir, "empty")), os.Mkdir(filepath.Join(dir, "empty"), 0o777))
		}},
		{"directory", func() error { return os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "none", "a")) }},
		{"removal", func() error { return os.Remove(filepath.Join(dir, "none", "a")) }},
	} {
		if err := change.do(); err != nil {
			t.Fatal(err)
		}
		s := sum()
		if other, ok := seen[s]; ok {
			t.Errorf("the hash after %q is the same as after %q", change.name, other)
		}
		seen[s] = change.name
	}
}

// TestLinks: links are hashed and not followed.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sub", "file"), "x")
	for name, target := range map[string]string{"loop": ".", "gone": "nowhere", "sub/up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(name))); err != nil {
			t.Skipf("this system has no symbolic links: %v", err)
		}
	}
	p := merkle.NewPass(t.Context(), dir)
	walk(p, true) // never ends if links are followed
	sub := slices.Concat(leaf('f', "file", []byte("x")), leaf('l', "up", []byte("..")))
	want := merkle.Sum(sha256.Sum256(slices.Concat(leaf('l', "gone", []byte("nowhere")), leaf('l', "loop", []byte(".")), leaf('d', "sub", sub))))
	if p.Sum() != want || p.Files() != 1 || p.Others() != 3 {
		t.Errorf("Sum = %v, want %v; files, others = %d, %d", p.Sum(), want, p.Files(), p.Others())
	}
}

// TestUnreadable: an unreadable file is reported and does not end the walk.
func TestUnreadable(t *testing.T) {
	dir := makeTree(t)
	locked := filepath.Join(dir, "b", "locked")
	write(t, locked, "secret")
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	if f, err := os.Open(locked); err == nil {
		f.Close()
		if runtime.GOOS == "windows" {
			t.Skip("this system has no permissions to remove")
		}
		t.Log("this user may read all files: only the missing root is checked")
	} else {
		p := merkle.NewPass(t.Context(), dir)
		concurrent(p)
		u := p.Unreadable()
		if len(u) != 1 || u[0].Path != locked || !errors.Is(u[0].Err, os.ErrPermission) {
			t.Errorf("unreadable = %v, want %s alone", u, locked)
		}
		if p.Files() != 4 {
			t.Errorf("files = %d, want 4: an unreadable file ended the walk", p.Files())
		}
	}

	missing := merkle.NewPass(t.Context(), filepath.Join(dir, "missing"))
	walk(missing, true)
	if u := missing.Unreadable(); len(u) != 1 || !errors.Is(u[0].Err, os.ErrNotExist) {
		t.Errorf("unreadable = %v, want the root", u)
	}
}

// TestRemovedBeforeVisit: a file and a directory that are removed after they were listed are
// unreadable.
func TestRemovedBeforeVisit(t *testing.T) {
	dir := makeTree(t)
	p := merkle.NewPass(t.Context(), dir)
	s := merkle.NewScratch()
	children := p.Root().Visit(s)
	if err := errors.Join(os.Remove(filepath.Join(dir, "a")), os.RemoveAll(filepath.Join(dir, "b"))); err != nil {
		t.Fatal(err)
	}
	for i := range children {
		if more := children[i].Visit(s); len(more) != 0 {
			t.Errorf("%d nodes in a directory that is empty or removed", len(more))
		}
	}
	var paths []string
	for _, u := range p.Unreadable() {
		paths = append(paths, filepath.Base(u.Path))
	}
	if !slices.Equal(paths, []string{"a", "b"}) {
		t.Errorf("unreadable = %v, want a and b", paths)
	}
	empty, zero := sha256.Sum256(nil), make([]byte, 32)
	root := bytes.Join([][]byte{
		append([]byte{'!', 1, 'a'}, zero...), append([]byte{'!', 1, 'b'}, zero...),
		leaf('f', "empty", nil), append([]byte{'d', 4, 'n', 'o', 'n', 'e'}, empty[:]...),
	}, nil)
	if want := merkle.Sum(sha256.Sum256(root)); p.Sum() != want {
		t.Errorf("Sum = %v, want %v", p.Sum(), want)
	}
}

// TestCancel: visits after the context has ended do nothing, and Err reports it.
func TestCancel(t *testing.T) {
	dir := makeTree(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := merkle.NewPass(ctx, dir)
	s := merkle.NewScratch()
	children := p.Root().Visit(s)
	cancel()
	for i := range children {
		if more := children[i].Visit(s); more != nil {
			t.Error("a visit after the end returned nodes")
		}
	}
	if p.Err() == nil || p.Files() != 0 {
		t.Errorf("Err = %v, files = %d after the end, want an error and 0", p.Err(), p.Files())
	}
}
