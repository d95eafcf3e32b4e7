package sync

// NoCopy is a field of types that must not be copied after first use. It takes
// no room, and makes go vet (copylocks) report a copy:
//
//	type Ring struct {
//		_ lfsync.NoCopy
//		...
//	}
//
// Put it first: a field of no size at the end of a struct costs a word.
type NoCopy struct{}

// Lock does nothing; go vet looks for it.
func (*NoCopy) Lock() {}

// Unlock does nothing; go vet looks for it.
func (*NoCopy) Unlock() {}
