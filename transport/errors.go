package transport

import "errors"

// The faults of a header, in addition to [ErrBadTag] and [ErrBadPayload]. The call of
// the header fails, and the mailbox continues to work.
var (
	ErrBadFunction = errors.New("transport: no such function")
	ErrBadFlags    = errors.New("transport: unknown flags")
	ErrBadAbort    = errors.New("transport: abort id out of range")
	ErrBadCall     = errors.New("transport: no call has that id")
)

// ErrViolation reports that the other side has broken the rules of the mailbox. The end
// that has seen it receives nothing more and repairs nothing, because the other side cannot
// be trusted.
var ErrViolation = errors.New("transport: the other side broke the rules of the mailbox")

// ErrHello reports memory in which the other side has not said what a side of this version says first.
var ErrHello = errors.New("transport: the other side of the link is not one of this version")

// ErrClosed reports that this end is closed, and sends nothing more, or has lost its memory to [End.Unmap].
var ErrClosed = errors.New("transport: the end is closed")

// ErrRegion reports memory that is not fit for a Link: too small, not aligned, or used before.
var ErrRegion = errors.New("transport: region too small or not aligned")
