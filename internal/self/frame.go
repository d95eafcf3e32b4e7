package self

import (
	"github.com/lanewright/lanewright/internal/invariant"
	"github.com/lanewright/lanewright/internal/park"
)

// Frame is one thing that a goroutine runs. Its user embeds it in a record of its own, which
// is the Owner of the frame, and may use it again after Leave. The zero Frame is ready to be
// entered.
//
// Owner is set before the first Enter. Only the goroutine that has entered a frame may use
// it, until it has left, except for IsElsewhere. A frame must not be copied while it is entered.
// An owner that other goroutines take over leaves its frame before one of them can get it.
type Frame struct {
	Owner any

	up *Frame  // the frame below; nil: none
	at *record // the record of the goroutine; nil: the frame is not entered

	by *goroutine // the goroutine that has entered it last, with assertions only
}

// Top returns the innermost frame of the calling goroutine, or nil if there is none. It never
// blocks.
func Top() *Frame {
	r := lookup()
	if r == nil {
		return nil
	}
	f := r.top.Get()
	if invariant.Enabled {
		f.check()
	}
	return f
}

// Up returns the frame of the same goroutine that was entered before f, or nil if there is
// none. The frame f must be entered.
func (f *Frame) Up() *Frame { return f.up }

// IsElsewhere reports whether another goroutine than the caller has entered f. It is for the
// detection of a misuse, so it is the one method that any goroutine may call if it is ordered
// after Enter and before Leave.
func (f *Frame) IsElsewhere() bool { return f.at != nil && f.at != lookup() }

// Enter makes f the innermost frame of the calling goroutine. It panics if f is entered
// already. It never blocks.
func (f *Frame) Enter() {
	if f.at != nil {
		panic("self: Frame.Enter: the frame is entered already")
	}
	r := lookup()
	if r == nil {
		r = claim()
	}
	below := r.top.Get()
	if invariant.Enabled {
		if below != nil {
			below.check()
		}
		f.note()
	}
	f.up, f.at = below, r
	r.top.Set(f)
}

// Leave takes f off the stack of the calling goroutine, which has entered it. The frame need
// not be the innermost one. Leave panics if f is not entered. It never blocks.
func (f *Frame) Leave() {
	r := f.at
	if r == nil {
		panic("self: Frame.Leave: the frame is not entered")
	}
	if invariant.Enabled {
		f.check()
	}
	switch top := r.top.Get(); {
	case top != f:
		for top.up != f {
			top = top.up
		}
		top.up = f.up
	case f.up != nil:
		r.top.Set(f.up)
	default:
		release(r)
	}
	f.up, f.at = nil, nil
}

// A goroutine is the number of a goroutine, which is never used again, unlike its identity.
type goroutine struct {
	number uintptr
	buf    [64]byte
}

// note records the calling goroutine as that of f.
func (f *Frame) note() {
	if f.by == nil {
		f.by = new(goroutine)
	}
	f.by.number = park.Number(&f.by.buf)
}

// check asserts that the calling goroutine has entered f.
func (f *Frame) check() {
	invariant.Assert(f.by.number == park.Number(&f.by.buf),
		"self: a frame is used by another goroutine, or a goroutine with this identity has ended without Leave")
}
