package sync

// Pad keeps the fields before it and after it on different cache lines. Go does not align
// structs to cache lines, so a hot word has a Pad on both sides:
//
//	type counter struct {
//		_ lfsync.Pad
//		n atomic.Uint64
//		_ lfsync.Pad
//	}
type Pad [CacheLine]byte
