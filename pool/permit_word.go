package pool

// permitWord is the state of the permits of a lane in one word. A lane has as many permits as it
// may run calls at once. Each has a runner, which is the record of its use. The pick is the right
// to take calls out of the lane. The methods are the transitions. They are pure: the loops around
// the word are in lane_permits.go and contain no rules.
//
//	bits 0-1    pick: free; queued, for a drain that is scheduled; held
//	bit 2       surplus: the lane has more permits than it may have, after SetConcurrency or because of calls that were
//	            sent ahead
//	bits 4-17   picker: the index plus 1 of the runner for which the pick was taken; 0: a closer,
//	            or the receiver of a process that sends calls ahead, has taken the pick while it was free
//	bits 18-31  top: the index plus 1 of the topmost free runner; 0: no permit is free
//	bits 32-63  tag: grows with each runner that is removed
//
// Invariants:
//
//	P1  a drain or a caller gets the pick together with a permit. A closer gets it without one if
//	    it was free, and with that of the drain if it was queued. The receiver of a process that sends calls ahead
//	    gets it without one, and then a permit that may be one too many
//	P2  the list of free runners is the one that the word had when its top was removed: the
//	    tag shows that a top was used in the meantime (ABA)
//	P3  while surplus is set, no permit becomes free, and only the holder of the pick starts a call. A
//	    goroutine with another permit that no handler needs any more retires it: see permitCount. So after
//	    the change that sets surplus, no permit is free. A goroutine that has loaded surplus and finds that
//	    no permit is to be retired loads the word again, because surplus may be set again
type permitWord uint64

const (
	pickFree permitWord = iota
	pickQueued
	pickHeld
	permitPick permitWord = 3

	permitSurplus     permitWord = 1 << 2
	permitIndex       permitWord = 1<<14 - 1 // the bits of an index
	permitPickerShift            = 4
	permitTopShift               = 18
	permitTag         permitWord = 1 << 32 // what one removal adds
)

// pick returns the state of the pick.
func (w permitWord) pick() permitWord { return w & permitPick }

// picker returns the index plus 1 of the runner that has the pick, or 0.
func (w permitWord) picker() uint32 { return uint32(w >> permitPickerShift & permitIndex) }

// top returns the index plus 1 of the topmost free runner, or 0.
func (w permitWord) top() uint32 { return uint32(w >> permitTopShift & permitIndex) }

// withPicker returns w with another state of the pick, and another picker.
func (w permitWord) withPicker(pick permitWord, picker uint32) permitWord {
	w &^= permitPick | permitIndex<<permitPickerShift
	return w | pick | permitWord(picker)<<permitPickerShift
}

// withTop returns w with another top.
func (w permitWord) withTop(top uint32) permitWord {
	return w&^(permitIndex<<permitTopShift) | permitWord(top)<<permitTopShift
}

// canTake reports whether the pick and a permit are free.
func (w permitWord) canTake() bool { return w.pick() == pickFree && w.top() != 0 }

// surplus reports whether the lane has more permits than it may have.
func (w permitWord) surplus() bool { return w&permitSurplus != 0 }

// withSurplus returns w with that bit.
func (w permitWord) withSurplus(on bool) permitWord {
	if on {
		return w | permitSurplus
	}
	return w &^ permitSurplus
}

// remove removes the topmost free runner. below is the one below that. A permit is free.
func (w permitWord) remove(below uint32) permitWord { return w.withTop(below) + permitTag } // P2

// take makes the pick queued for the topmost free runner, which it removes. below is the one below
// that. The word can be taken.
func (w permitWord) take(below uint32) permitWord { // P1
	return w.withPicker(pickQueued, w.top()).remove(below)
}

// hold makes the pick held. It reports false if the pick is not in that state.
func (w permitWord) hold(from permitWord) (next permitWord, ok bool) {
	return w.withPicker(pickHeld, w.picker()), w.pick() == from
}

// end is the end of the use of the permit with that index: see permitEnd. It adds the runner to the
// free ones, whose top is below it then, or makes the pick held for it.
func (w permitWord) end(index uint32, as permitEnd) (next permitWord, picks bool) {
	switch {
	case as == pickOrPut && w.pick() == pickFree:
		return w.withPicker(pickHeld, index+1), true
	case as == putBoth:
		w = w.give(pickFree)
	}
	return w.withTop(index + 1), false
}

// give makes the pick, which is held, free or queued.
func (w permitWord) give(to permitWord) permitWord {
	if to == pickFree {
		return w.withPicker(to, 0)
	}
	return w.withPicker(to, w.picker())
}
