//go:build interleave

package self_test

import (
	"testing"

	"github.com/lanewright/lanewright/interleave"
	"github.com/lanewright/lanewright/internal/self"
)

// A user runs what goroutines do with a table. It fails the model when the table breaks its
// law. A goroutine finds its own record from claim to release and none otherwise. No other
// goroutine has that record.
type user struct {
	m     *interleave.M
	table *self.Table
}

// claim claims a record for key and writes to it.
func (u user) claim(key uintptr) (r *self.Record, f *self.Frame) {
	if u.table.Find(key) != nil {
		u.m.Fatalf("key %d is found before it is claimed", key)
	}
	r, f = u.table.Claim(key), new(self.Frame)
	if r.Top() != nil {
		u.m.Fatalf("the record that key %d claims has a frame", key)
	}
	r.SetTop(f)
	return r, f
}

// check checks that key has the record r with the frame f.
func (u user) check(key uintptr, r *self.Record, f *self.Frame) {
	if u.table.Find(key) != r || r.Top() != f {
		u.m.Fatalf("key %d does not find its record", key)
	}
}

// release releases the record of key.
func (u user) release(key uintptr, r *self.Record) {
	r.Release()
	if u.table.Find(key) != nil {
		u.m.Fatalf("key %d is found after its release", key)
	}
}

// use is the life of a goroutine that enters one frame.
func (u user) use(key uintptr) {
	r, f := u.claim(key)
	u.check(key, r, f)
	u.release(key, r)
}

// full claims both records of the only bucket of the first level for other goroutines.
func (u user) full() {
	for key := uintptr(100); key < 102; key++ {
		u.table.Claim(key)
	}
}

// TestModelTable checks that goroutines that compete for the records of one bucket keep the
// law. The table is empty, or a worker holds a record so that one of them goes to the
// second level.
func TestModelTable(t *testing.T) {
	for _, tc := range []struct {
		name string
		held int
		keys []uintptr
	}{
		{"self-table-empty", 0, []uintptr{1, 2}},
		{"self-table-one-record", 1, []uintptr{1, 2}},
		{"self-table-three", 1, []uintptr{1, 2, 3}},
	} {
		o := interleave.Options{Preemptions: 2}
		if len(tc.keys) == 2 {
			o = interleave.Options{Preemptions: interleave.All, Reduce: true}
		}
		interleave.Check(t, tc.name, o, func(m *interleave.M) {
			u := user{m, self.NewTable(0)}
			for key := range tc.held {
				u.table.Claim(uintptr(100 + key))
			}
			for _, key := range tc.keys {
				m.Go("goroutine", func() { u.use(key) })
			}
		})
	}
}

// TestModelTableLevel checks that two goroutines that find the first level full make one
// second level.
func TestModelTableLevel(t *testing.T) {
	interleave.Check(t, "self-table-level", interleave.Options{Preemptions: interleave.All, Reduce: true}, func(m *interleave.M) {
		u := user{m, self.NewTable(0)}
		u.full()
		for key := uintptr(1); key <= 2; key++ {
			m.Go("goroutine", func() { u.use(key) })
		}
		m.Final(func() {
			if n := len(u.table.Levels()); n != 2 {
				m.Fatalf("%d levels, want 2", n)
			}
		})
	})
}

// TestModelTableReuse checks that a goroutine that gets the key of one that has ended finds
// no record. Another goroutine uses a record that is free again.
func TestModelTableReuse(t *testing.T) {
	interleave.Check(t, "self-table-reuse", interleave.Options{Preemptions: 3}, func(m *interleave.M) {
		u := user{m, self.NewTable(0)}
		u.table.Claim(100)
		m.Go("first", func() {
			u.use(1)
			interleave.Go("later", func() { u.use(1) })
		})
		m.Go("other", func() { u.use(2) })
	})
}

// TestModelTableCrash checks that a goroutine that stops at any step stops no other one.
func TestModelTableCrash(t *testing.T) {
	interleave.Check(t, "self-table-crash", interleave.Options{Preemptions: 2, Crash: "stops"}, func(m *interleave.M) {
		u := user{m, self.NewTable(0)}
		u.full()
		m.Go("stops", func() { u.use(1) })
		m.Go("goroutine", func() { u.use(2) })
	})
}
