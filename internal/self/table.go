package self

import "github.com/lanewright/lanewright/internal/atomix"

// table maps the keys of goroutines to their records. A key is not 0, and no two live
// goroutines have the same one. Each goroutine passes its own key only.
type table struct {
	bits   uint8 // the first level has 1<<bits buckets
	levels [maxLevels]atomix.Pointer[level]
}

// A level is an array of buckets. A key has one bucket in each level.
type level struct {
	shift   uint8 // 64 minus the number of bits of an index
	buckets []bucket
}

// A bucket fills two cache lines of 64 bytes on 64-bit processors.
type bucket struct {
	used    atomix.Uint32
	records [bucketRecords]record
	_       uintptr
}

// A record holds the frames of the goroutine whose key it has.
type record struct {
	key atomix.Uintptr
	top atomix.Cell[*Frame]
}

const (
	// overflowed is the value of bucket.used when claims have gone on to the next level.
	overflowed = bucketRecords + 1

	// maxLevels is chosen beyond the memory of any machine: a level has twice as many
	// buckets as the level before, and the last one of the process at least 8 million.
	maxLevels = 16

	// multiplier is 2^64 divided by the golden ratio.
	multiplier = 0x9E3779B97F4A7C15
)

// Algorithm of table: hash tables that grow by levels, in which nothing moves.
//
// A key goes to the first level with a free record in its bucket. A bucket counts the
// records that were ever claimed in it, so that the look-up of an absent key reads only
// these: none in a bucket that was never used. When a claim has found all of them in use,
// the bucket is overflowed for ever, and a look-up continues in the next level.
//
// Roles:
//
//	holder  the goroutine whose key is in the record. A goroutine claims, finds and
//	        releases its own key only
//	other   a goroutine with another key
//
// State:
//
//	levels  nil until the level is made: one CAS by any claimer
//	used    the number of records that find reads, or overflowed: raised by claimers, by CAS
//	key     0 while the record is free: CAS from 0 by a claimer, stored 0 by the holder
//	top     the innermost frame: read and written by the holder only
//
// Invariants:
//
//	I1  a goroutine uses a record only while its key is in it
//	I2  a key is in one record at most
//	I3  if a key is in record j of its bucket in a level, then used > j in that bucket, and
//	    used is overflowed in its buckets of all levels before
//	I4  used only grows, and a pointer to a level does not change
//
// A find returns the record of its key, because its own goroutine has established I3 in the
// claim, and I4 keeps it true. What other goroutines do in between makes a find read more
// records, and changes no result.
//
// Linearization points:
//
//	claim    the CAS on key
//	release  the store to key
//	find     any of its steps, because only the caller could change the result
//
// Happens-before edges:
//
//	E1  store of 0 to key    ->  CAS of a claim on key   the next holder writes top after the last one
//	E2  CAS on the pointer   ->  load of the pointer     the reader of a level sees its buckets
//
// A goroutine may have the key of an earlier goroutine. The runtime starts it after the end of
// that one, so that it finds the record released.
//
// Progress: all operations are wait-free, apart from the allocation of a level. A claim whose
// CAS fails goes on to the next record. The CAS of a raise fails only if another goroutine
// has raised used, which happens bucketRecords+1 times at most.
//
// Limit: the memory of a level is never given back, and overflowed buckets stay so. After
// 10,000 goroutines were inside at once, the look-up of an absent key reads three buckets.
//
// Source: the levels are those of Broder and Karlin, Multilevel adaptive hashing (SODA
// 1990). Their levels shrink and ours grow, ours have buckets, and the count is an addition.
//
// Rejected: sync.Map takes 110 to 190 ns and two allocations for Store and Delete, where
// claim and release take 20 ns. Levels with four times as many buckets as the level before
// have 68 bytes in place of 49 for each of 10,000 goroutines, and an absent key reads 2.6
// buckets in place of 3.1. A hash of one multiplication sends 258 of 1,000 goroutines to the
// second level, and mix 13: the addresses of goroutines are multiples of 480 on pages.

// find returns the record of key, or nil.
func (t *table) find(key uintptr) *record {
	h := mix(key)
	for i := range t.levels {
		l := t.levels[i].Load() // E2
		if l == nil {
			return nil
		}
		h *= multiplier
		b := &l.buckets[h>>l.shift]
		used := b.used.Load() // I3
		for j := range min(used, bucketRecords) {
			if r := &b.records[j]; r.key.Load() == key {
				return r
			}
		}
		if used != overflowed {
			return nil
		}
	}
	return nil
}

// claim returns a record that has key from now on. The key must not be in the table.
func (t *table) claim(key uintptr) *record {
	h := mix(key)
	for i := range t.levels {
		l := t.level(i)
		h *= multiplier
		b := &l.buckets[h>>l.shift]
		for j := range b.records {
			if r := &b.records[j]; r.key.Load() == 0 && r.key.CompareAndSwap(0, key) { // E1
				b.raise(uint32(j) + 1) // I3
				return r
			}
		}
		b.raise(overflowed) // I3
	}
	panic("self: Frame.Enter: the table is full")
}

// raise makes used at least to.
func (b *bucket) raise(to uint32) {
	for used := b.used.Load(); used < to; used = b.used.Load() {
		b.used.CompareAndSwap(used, to) // I4
	}
}

// release frees the record. The caller is the holder.
func (r *record) release() {
	r.top.Set(nil) // E1: before the record is free
	r.key.Store(0) // E1
}

// level returns level i. It makes the level if there is none.
func (t *table) level(i int) *level {
	if l := t.levels[i].Load(); l != nil { // E2
		return l
	}
	bits := int(t.bits) + i
	l := &level{shift: uint8(64 - bits), buckets: make([]bucket, 1<<bits)}
	if !t.levels[i].CompareAndSwap(nil, l) { // E2, I4
		l = t.levels[i].Load() // E2: another claimer has made it
	}
	return l
}

// mix returns a number whose products with multiplier have high bits that depend on all bits
// of key.
func mix(key uintptr) uint64 {
	h := uint64(key) * multiplier
	return h ^ h>>32
}
