package sync

// NoCopy is a field of types that must not be copied after first use. It has no size and
// makes go vet (copylocks) report a copy:
//
//	type Ring struct {
//		_ lfsync.NoCopy
//		...
//	}
//
// Put it first, because a field without size at the end of a struct costs a word.
type NoCopy struct{}

// Lock does nothing. go vet looks for this method.
func (*NoCopy) Lock() {}

// Unlock does nothing. go vet looks for this method.
func (*NoCopy) Unlock() {}
