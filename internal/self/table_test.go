package self_test

import (
	"reflect"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/internal/self"
)

// TestTable checks that the table behaves as a map from keys to records does. A record
// keeps its frame. The tables are so small that keys share their buckets.
func TestTable(t *testing.T) {
	const keys = 40
	rapid.Check(t, func(t *rapid.T) {
		table := self.NewTable(uint8(rapid.IntRange(0, 2).Draw(t, "bits")))
		frames := make([]self.Frame, keys+1)
		model := map[uintptr]*self.Record{}
		claim := func(key uintptr) {
			r := table.Claim(key)
			if f := r.Top(); f != nil {
				t.Fatalf("the record of key %d begins with a frame", key)
			}
			r.SetTop(&frames[key])
			model[key] = r
		}
		for key := range uintptr(rapid.IntRange(0, keys).Draw(t, "claimed")) {
			claim(key + 1)
		}
		t.Repeat(map[string]func(*rapid.T){
			"claim or release": func(t *rapid.T) {
				key := uintptr(rapid.IntRange(1, keys).Draw(t, "key"))
				r := model[key]
				if r == nil {
					claim(key)
					return
				}
				r.Release()
				delete(model, key)
			},
			"": func(t *rapid.T) {
				for key := uintptr(1); key <= keys; key++ {
					r := table.Find(key)
					if r != model[key] {
						t.Fatalf("Find of %d: got %p, want %p", key, r, model[key])
					}
					if r != nil && r.Top() != &frames[key] {
						t.Fatalf("the record of key %d has the frame of another key", key)
					}
				}
			},
		})
	})
}

// TestFullBuckets checks that a key in a full bucket goes to the next level. It is found
// there when records of the first level are free again. A key that is claimed then gets one
// of these.
func TestFullBuckets(t *testing.T) {
	table := self.NewTable(0)
	const keys = 2 * self.BucketRecords
	records := map[uintptr]*self.Record{}
	check := func() {
		t.Helper()
		for key := uintptr(1); key <= keys+1; key++ {
			if r := table.Find(key); r != records[key] {
				t.Errorf("Find of %d: got %p, want %p", key, r, records[key])
			}
		}
	}
	for key := uintptr(1); key <= keys; key++ {
		records[key] = table.Claim(key)
		check()
	}
	free := records[1]
	free.Release()
	delete(records, 1)
	check()
	records[keys+1] = table.Claim(keys + 1)
	if records[keys+1] != free {
		t.Error("a claim has not taken the free record of the first level")
	}
	check()
	for key := uintptr(2); key <= keys+1; key++ {
		records[key].Release()
		delete(records, key)
		check()
	}
}

// TestFreeRecords checks that a key is found after a record before its own was claimed
// again.
func TestFreeRecords(t *testing.T) {
	table := self.NewTable(0)
	first, second := table.Claim(1), table.Claim(2)
	first.Release()
	table.Claim(3)
	if table.Find(1) != nil || table.Find(2) != second || table.Find(3) != first {
		t.Errorf("got %p, %p, %p, want nil, %p, %p", table.Find(1), table.Find(2), table.Find(3), second, first)
	}
}

// TestTableGrows checks that each goroutine finds its own frame when more goroutines are
// inside than the first level has records. The records are used again when the goroutines
// have left. As many other goroutines then need no more levels, apart from one where they
// have other addresses.
func TestTableGrows(t *testing.T) {
	self.Process.Clear()
	var f self.Frame
	f.Enter()
	goroutines := 2 * len(self.Process.Levels()[0]) * self.BucketRecords
	f.Leave()
	levels := 0
	for round := range 2 {
		var in, out sync.WaitGroup
		in.Add(goroutines)
		end := make(chan struct{})
		for range goroutines {
			out.Go(func() {
				var f self.Frame
				f.Enter()
				defer f.Leave()
				in.Done()
				<-end
				if self.Top() != &f {
					t.Error("a goroutine finds another frame than its own")
				}
			})
		}
		in.Wait()
		if records := self.Process.Records(); sum(records) != goroutines {
			t.Errorf("the levels have %v records, want %d in all", records, goroutines)
		} else if round == 0 {
			levels = len(records)
		} else if len(records) > levels+1 { // the other goroutines have other addresses
			t.Errorf("%d levels, after %d in the first round", len(records), levels)
		}
		close(end)
		out.Wait()
		if records := self.Process.Records(); sum(records) != 0 {
			t.Errorf("%v records are in use by goroutines that have ended", records)
		}
	}
	if levels < 2 {
		t.Errorf("%d levels, want 2 at least", levels)
	}
}

func sum(numbers []int) (n int) {
	for _, x := range numbers {
		n += x
	}
	return n
}

// TestKeysSpread checks that keys spread over the buckets as random numbers do. The keys
// are numbers of goroutines, or addresses in blocks of pages. At a mean of two keys for
// each bucket one in a hundred goes to the second level at most. The expectation is one in
// 900 with buckets of seven records.
func TestKeysSpread(t *testing.T) {
	if self.BucketRecords < 7 {
		t.Skip("a build with models has small buckets")
	}
	const bits, keys = 10, 2 << 10
	for name, key := range map[string]func(i int) uintptr{
		"numbers":           func(i int) uintptr { return uintptr(i + 1) },
		"numbers, far":      func(i int) uintptr { return uintptr(1<<30 + i) },
		"every third":       func(i int) uintptr { return uintptr(3*i + 1) },
		"blocks of 480":     func(i int) uintptr { return uintptr(0x20_0000 + i/17*8192 + i%17*480) },
		"blocks of 448":     func(i int) uintptr { return uintptr(0x20_0000 + i/18*8192 + i%18*448) },
		"blocks of 512":     func(i int) uintptr { return uintptr(0x20_0000 + i*512) },
		"pages":             func(i int) uintptr { return uintptr(0x20_0000 + i*8192) },
		"blocks and stacks": func(i int) uintptr { return uintptr(0x20_0000 + i/17*17*8192 + i%17*480) },
	} {
		table := self.NewTable(bits)
		for i := range keys {
			table.Claim(key(i))
		}
		if records := table.Records(); sum(records[1:]) > keys/100 {
			t.Errorf("%s: the levels have %v of %d keys", name, records, keys)
		}
	}
}

// TestKeysOfOneBucketPart checks that keys that share a bucket of the first level spread
// over the buckets of the second one.
func TestKeysOfOneBucketPart(t *testing.T) {
	const bits, keys = 8, 100
	table := self.NewTable(bits)
	n := 0
	for key := uintptr(480); n < keys; key += 480 {
		if self.Index(key, bits) == 0 {
			table.Claim(key)
			n++
		}
	}
	if records := table.Records(); records[0] != self.BucketRecords || records[1] < keys*4/5 {
		t.Errorf("the levels have %v of %d keys, want %d in the first level and most others in the second", records, keys, self.BucketRecords)
	}
}

// TestBucketsBeginAtCacheLines checks that on 64-bit processors no two buckets share a
// cache line of 64 bytes.
func TestBucketsBeginAtCacheLines(t *testing.T) {
	if self.BucketRecords < 7 || reflect.TypeFor[uintptr]().Size() < 8 {
		t.Skip("buckets have another size in a build with models and on 32 bits")
	}
	var f self.Frame
	f.Enter()
	defer f.Leave()
	for i, buckets := range self.Process.Levels() {
		array := reflect.ValueOf(buckets)
		if at, size := array.Pointer(), array.Type().Elem().Size(); at%64 != 0 || size != 128 {
			t.Errorf("level %d: buckets of %d bytes from %#x on, want 128 from a multiple of 64", i, size, at)
		}
	}
}
