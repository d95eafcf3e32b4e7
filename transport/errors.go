package transport

import "errors"

// What is wrong with a header, besides [ErrBadTag] and [ErrBadPayload]. The call
// that it belongs to fails; the mailbox goes on.
var (
	ErrBadFunction = errors.New("transport: no such function")
	ErrBadFlags    = errors.New("transport: unknown flags")
	ErrBadAbort    = errors.New("transport: abort id out of range")
)

// ErrViolation says that the other side has broken the rules of the mailbox. The
// end that has seen it does nothing more, and repairs nothing: the other side
// cannot be trusted.
var ErrViolation = errors.New("transport: the other side broke the rules of the mailbox")

// ErrRegion says that memory is not fit for a Link: too small, or not aligned.
var ErrRegion = errors.New("transport: region too small or not aligned")
