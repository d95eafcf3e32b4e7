package transport

import "encoding/binary"

// MaxFunctions is the number of functions that a header can name.
const MaxFunctions = 1 << 16

// ValueBytes is the length of the longest payload that travels in the header.
const ValueBytes = 24

// Flags are the kind and the options of a message.
type Flags uint16

// The flags. All other bits are zero.
const (
	FlagReject    Flags = 1 << iota // of an answer: the payload is an error
	FlagPing                        // of a request: answer at once, run no function
	FlagStop                        // of a request: the last one; end when the others are answered
	FlagAbortable                   // of a request: Meta is its abort id
	FlagNotice                      // no call and no answer: Meta says what it is, and has a meaning for the callers only

	flagsKnown Flags = 1<<iota - 1
)

// Header is the record of one call, or of its answer, in a slot. It takes HeaderBytes
// (64) bytes, little-endian:
//
//	offset  bytes  field
//	0       2      Fn        index of the function, from 0 on
//	2       2      Flags
//	4       4      Tag       encoding of the payload
//	8       8      ID        of the call, see [CallID]
//	16      4      Off       offset of the payload in the arena; 0 if it is not there
//	20      4      Len       of the payload, in bytes
//	24      4      Meta      the abort id, with FlagAbortable; otherwise free for
//	                         the caller
//	28      4      Seq       ticket of the claim of the slot
//	32      8      Deadline  nanoseconds since the time origin of the Link; 0: none
//	40      24     Value     the payload, if it is that short
//
// The length of a payload alone determines its position. A payload of up to
// [ValueBytes] is in the header, a payload of up to [InlineBytes] is behind the header,
// and a longer payload is in the arena.
type Header struct {
	Fn       uint16
	Flags    Flags
	Tag      Tag
	ID       uint64
	Off      uint32
	Len      uint32
	Meta     uint32
	Seq      uint32
	Deadline int64
	Value    [ValueBytes]byte
}

// Encode writes the record to dst, which has HeaderBytes bytes or more.
func (h *Header) Encode(dst []byte) {
	b := dst[:HeaderBytes]
	binary.LittleEndian.PutUint16(b[0:], h.Fn)
	binary.LittleEndian.PutUint16(b[2:], uint16(h.Flags))
	binary.LittleEndian.PutUint32(b[4:], uint32(h.Tag))
	binary.LittleEndian.PutUint64(b[8:], h.ID)
	binary.LittleEndian.PutUint32(b[16:], h.Off)
	binary.LittleEndian.PutUint32(b[20:], h.Len)
	binary.LittleEndian.PutUint32(b[24:], h.Meta)
	binary.LittleEndian.PutUint32(b[seqOffset:], h.Seq)
	binary.LittleEndian.PutUint64(b[32:], uint64(h.Deadline))
	copy(b[40:], h.Value[:])
}

// seqOffset is the offset of Seq, which is read alone to put slots in order.
const seqOffset = 28

// Limits are the bounds that [Header.Decode] checks a header against.
type Limits struct {
	Functions int // number of functions
	Arena     int // largest size of the arena of the sender, in bytes
	PerValue  int // largest length of a payload, in bytes
	Aborts    int // number of abort ids
}

// Decode reads the record from src, which has HeaderBytes bytes or more. The writer of
// src may change it concurrently: Decode reads each byte once and returns the bytes
// that it checked. If h cannot be used, Decode returns one of ErrBadFunction,
// ErrBadFlags, ErrBadTag, ErrBadPayload and ErrBadAbort. h then has the fields as they
// were in src.
func (h *Header) Decode(src []byte, l Limits) error {
	var b [HeaderBytes]byte
	copy(b[:], src[:HeaderBytes]) // the only read of memory that the other side writes
	h.Fn = binary.LittleEndian.Uint16(b[0:])
	h.Flags = Flags(binary.LittleEndian.Uint16(b[2:]))
	h.Tag = Tag(binary.LittleEndian.Uint32(b[4:]))
	h.ID = binary.LittleEndian.Uint64(b[8:])
	h.Off = binary.LittleEndian.Uint32(b[16:])
	h.Len = binary.LittleEndian.Uint32(b[20:])
	h.Meta = binary.LittleEndian.Uint32(b[24:])
	h.Seq = binary.LittleEndian.Uint32(b[seqOffset:])
	h.Deadline = int64(binary.LittleEndian.Uint64(b[32:]))
	copy(h.Value[:], b[40:])
	return h.check(l)
}

// check returns the fault of h, or nil.
func (h *Header) check(l Limits) error {
	switch {
	case int(h.Fn) >= l.Functions:
		return ErrBadFunction
	case h.Flags&^flagsKnown != 0:
		return ErrBadFlags
	case !h.Tag.Valid():
		return ErrBadTag
	case !h.payloadFits(l):
		return ErrBadPayload
	case h.Flags&FlagAbortable != 0 && int64(h.Meta) >= int64(l.Aborts):
		return ErrBadAbort
	}
	return nil
}

// payloadFits reports whether the offset and the length of the payload agree with its
// tier and with the limits.
func (h *Header) payloadFits(l Limits) bool {
	if h.Len <= InlineBytes {
		return h.Off == 0
	}
	end := int64(h.Off) + int64(h.Len)
	return int64(h.Len) <= int64(l.PerValue) && end <= int64(l.Arena) && h.Off%blockBytes == 0
}
