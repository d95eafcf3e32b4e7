package self

// Table and Record are the table and its records.
type (
	Table  = table
	Record = record
)

// Process is the table of the process.
var Process = &process

// BucketRecords is the number of records of a bucket.
const BucketRecords = bucketRecords

// NewTable returns a table with 1<<bits buckets in its first level.
func NewTable(bits uint8) *Table { return &table{bits: bits} }

// Find, Claim and Release are the operations of the table.
func (t *table) Find(key uintptr) *Record  { return t.find(key) }
func (t *table) Claim(key uintptr) *Record { return t.claim(key) }
func (r *record) Release()                 { r.release() }

// Index returns the index of the bucket of key in a first level with 1<<bits buckets.
func Index(key uintptr, bits uint8) uint64 { return mix(key) * multiplier >> (64 - bits) }

// Top and SetTop read and write the top frame of a record.
func (r *record) Top() *Frame     { return r.top.Get() }
func (r *record) SetTop(f *Frame) { r.top.Set(f) }

// Levels returns the buckets of each level that was made.
func (t *table) Levels() (levels [][]bucket) {
	for i := range t.levels {
		if l := t.levels[i].Load(); l != nil {
			levels = append(levels, l.buckets)
		}
	}
	return levels
}

// Records returns the number of records of each level that are in use.
func (t *table) Records() (records []int) {
	for _, buckets := range t.Levels() {
		n := 0
		for i := range buckets {
			for j := range buckets[i].records {
				if buckets[i].records[j].key.Load() != 0 {
					n++
				}
			}
		}
		records = append(records, n)
	}
	return records
}

// Clear removes the levels. No goroutine may be inside.
func (t *table) Clear() {
	for i := range t.levels {
		t.levels[i].Store(nil)
	}
}
