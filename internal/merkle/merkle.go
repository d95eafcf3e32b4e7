package merkle

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// Sum is a SHA-256.
type Sum [sha256.Size]byte

// String returns s in hexadecimal.
func (s Sum) String() string { return hex.EncodeToString(s[:]) }

// Pass is one walk over a tree. Any goroutine may call its methods after the walk has
// ended. It may call Files and Bytes at any time.
type Pass struct {
	ctx  context.Context
	root Node

	visited             atomic.Int64
	files, dirs, others atomic.Int64
	bytes               atomic.Int64

	mu         sync.Mutex // guards unreadable; few visits lock it
	unreadable []Unreadable
}

// Unreadable is a file or directory that could not be read. The hash includes that it is
// unreadable.
type Unreadable struct {
	Path string
	Err  error
}

// NewPass returns a pass over the tree at dir. After ctx ends, visits do nothing, and the
// hash is not valid.
func NewPass(ctx context.Context, dir string) *Pass {
	p := &Pass{ctx: ctx}
	p.root = Node{pass: p, path: dir, kind: kindDir}
	return p
}

// Root returns the node to visit first.
func (p *Pass) Root() *Node { return &p.root }

// Sum returns the hash of the tree.
func (p *Pass) Sum() Sum { return p.root.sum }

// Err returns why the hash is not valid, or nil.
func (p *Pass) Err() error { return context.Cause(p.ctx) }

// Visited returns the number of visits: of files and directories, readable or not.
func (p *Pass) Visited() int64 { return p.visited.Load() }

// Files returns the number of regular files that were read.
func (p *Pass) Files() int64 { return p.files.Load() }

// Dirs returns the number of directories that were read.
func (p *Pass) Dirs() int64 { return p.dirs.Load() }

// Others returns the number of links and other entries that are neither regular files nor
// directories.
func (p *Pass) Others() int64 { return p.others.Load() }

// Bytes returns the number of bytes that were read from regular files.
func (p *Pass) Bytes() int64 { return p.bytes.Load() }

// Unreadable returns the files and directories that could not be read, sorted by path.
func (p *Pass) Unreadable() []Unreadable {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.SortedFunc(slices.Values(p.unreadable), func(a, b Unreadable) int { return cmp.Compare(a.Path, b.Path) })
}

func (p *Pass) addUnreadable(path string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unreadable = append(p.unreadable, Unreadable{Path: path, Err: err})
}

// bufferBytes is the size of one read.
const bufferBytes = 64 << 10

// Scratch is the working memory of a visit. It is for one visit at a time.
type Scratch struct {
	buf  []byte
	hash hash.Hash
}

// NewScratch returns a Scratch.
func NewScratch() *Scratch {
	return &Scratch{buf: make([]byte, bufferBytes), hash: sha256.New()}
}

const (
	kindDir        = 'd'
	kindFile       = 'f'
	kindLink       = 'l'
	kindOther      = 'o'
	kindUnreadable = '!'
)

// Node is a file or a directory that must be visited once.
type Node struct {
	pass   *Pass
	path   string
	kind   byte
	parent *Node
	slot   int // the index in parent.entries

	entries []entry      // of a directory, sorted by name
	missing atomic.Int32 // entries that have no hash yet
	sum     Sum          // of the root only
}

type entry struct {
	name string
	kind byte
	sum  Sum
}

// Visit hashes the file n, or reads the directory n and returns the nodes in it. The
// caller must visit these nodes, concurrently or in any order. The first visit is that of
// the root. The walk has ended when all visits have returned: one for the root, and one
// for each node that a visit returned.
func (n *Node) Visit(s *Scratch) []Node {
	n.pass.visited.Add(1)
	if n.pass.ctx.Err() != nil {
		n.finish(s, n.kind, Sum{})
		return nil
	}
	if n.kind == kindDir {
		return n.visitDir(s)
	}
	sum, size, err := hashFile(n.path, s)
	if err != nil {
		n.pass.addUnreadable(n.path, err)
		n.finish(s, kindUnreadable, Sum{})
		return nil
	}
	n.pass.files.Add(1)
	n.pass.bytes.Add(size)
	n.finish(s, kindFile, sum)
	return nil
}

func hashFile(path string, s *Scratch) (sum Sum, size int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return sum, 0, err
	}
	s.hash.Reset()
	for {
		var n int
		n, err = f.Read(s.buf)
		_, _ = s.hash.Write(s.buf[:n]) // never fails
		size += int64(n)
		if err != nil {
			break
		}
	}
	_ = f.Close() // it was only read
	if !errors.Is(err, io.EOF) {
		return sum, 0, err
	}
	s.hash.Sum(sum[:0])
	return sum, size, nil
}

func (n *Node) visitDir(s *Scratch) []Node {
	list, err := os.ReadDir(n.path) // sorted by name
	if err != nil {
		n.pass.addUnreadable(n.path, err)
		n.finish(s, kindUnreadable, Sum{})
		return nil
	}
	n.pass.dirs.Add(1)
	n.entries = make([]entry, len(list))
	nodes := 0
	for _, e := range list {
		if e.IsDir() || e.Type().IsRegular() {
			nodes++
		}
	}
	children := make([]Node, nodes)
	next := 0
	for i, e := range list {
		path := filepath.Join(n.path, e.Name())
		kind := byte(kindFile)
		switch {
		case e.IsDir():
			kind = kindDir
		case !e.Type().IsRegular():
			n.entries[i] = n.pass.special(path, e, s)
			continue
		}
		n.entries[i].name = e.Name()
		c := &children[next]
		next++
		c.pass, c.path, c.kind, c.parent, c.slot = n.pass, path, kind, n, i
	}
	if nodes == 0 {
		n.fold(s)
		return nil
	}
	n.missing.Store(int32(nodes)) // before a child can be visited
	return children
}

// special returns the entry of a link, or of another entry that is neither a regular file
// nor a directory.
func (p *Pass) special(path string, e fs.DirEntry, s *Scratch) entry {
	out := entry{name: e.Name(), kind: kindOther}
	text := e.Type().String()
	if e.Type()&fs.ModeSymlink != 0 {
		var err error
		if text, err = os.Readlink(path); err != nil {
			p.addUnreadable(path, err)
			out.kind = kindUnreadable
			return out
		}
		out.kind = kindLink
	}
	p.others.Add(1)
	s.hash.Reset()
	_, _ = io.WriteString(s.hash, text)
	s.hash.Sum(out.sum[:0])
	return out
}

// finish stores the hash of n in the entry of its parent. If the parent has all hashes
// then, finish hashes the parent.
func (n *Node) finish(s *Scratch, kind byte, sum Sum) {
	p := n.parent
	if p == nil {
		n.sum = sum
		return
	}
	p.entries[n.slot].kind, p.entries[n.slot].sum = kind, sum
	if p.missing.Add(-1) == 0 { // the other children stored their hashes before they decremented missing
		p.fold(s)
	}
}

// fold hashes the entries of the directory n, and then the directories above it that are
// complete. The depth of the recursion is the depth of the tree.
func (n *Node) fold(s *Scratch) {
	s.hash.Reset()
	b := s.buf[:0]
	for i := range n.entries {
		e := &n.entries[i]
		b = append(b[:0], e.kind)
		b = binary.AppendUvarint(b, uint64(len(e.name)))
		b = append(b, e.name...)
		b = append(b, e.sum[:]...)
		_, _ = s.hash.Write(b)
	}
	var sum Sum
	s.hash.Sum(sum[:0])
	n.finish(s, kindDir, sum)
}
