package transport

import "encoding/binary"

// MaxFunctions is how many functions a header can name.
const MaxFunctions = 1 << 16

// ValueBytes is the length of the longest payload that travels in the header.
const ValueBytes = 24

// Flags say what a header is.
type Flags uint16

// The flags. The other bits are zero.
const (
	FlagReject    Flags = 1 << iota // a response: the payload is an error
	FlagPing                        // a request: answer at once, run nothing
	FlagStop                        // a request: the last one, end when the others are answered
	FlagAbortable                   // a request: Meta is its abort id

	flagsKnown Flags = 1<<iota - 1
)

// Header is the record of one call, or of its answer, in a slot. It takes
// HeaderBytes (64) bytes, little-endian:
//
//	offset  bytes  field
//	0       2      Fn        which function, from 0 on
//	2       2      Flags
//	4       4      Tag       what the payload is
//	8       8      ID        which call
//	16      4      Off       where the payload lies in the arena; 0 outside
//	20      4      Len       of the payload, in bytes
//	24      4      Meta      the abort id, with FlagAbortable; else the caller's
//	28      4      Seq       ticket of the claim of the slot
//	32      8      Deadline  nanoseconds since the epoch of the Link; 0: none
//	40      24     Value     the payload, if it is that short
//
// Where the payload lies follows from its length alone: up to [ValueBytes] in the
// header, up to [InlineBytes] behind it, else in the arena.
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

// seqOffset is where Seq lies: it is read alone, to put slots in order.
const seqOffset = 28

// Limits are what a header is checked against.
type Limits struct {
	Functions int // how many there are
	Arena     int // bytes of the arena of the sender, at most
	PerValue  int // bytes of a payload, at most
	Aborts    int // how many abort ids there are
}

// Decode reads the record from src, which has HeaderBytes bytes or more and which
// its writer may go on changing: every byte is read once, and what is checked is
// what is returned. It returns one of ErrBadFunction, ErrBadFlags, ErrBadTag,
// ErrBadPayload, ErrBadAbort if h cannot be used, with the fields as they were.
func (h *Header) Decode(src []byte, l Limits) error {
	var b [HeaderBytes]byte
	copy(b[:], src[:HeaderBytes]) // the one look at memory of others
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

// check returns what is wrong with h, or nil.
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

// payloadFits reports whether the payload lies where one of its length does.
func (h *Header) payloadFits(l Limits) bool {
	if h.Len <= InlineBytes {
		return h.Off == 0
	}
	end := int64(h.Off) + int64(h.Len)
	return int64(h.Len) <= int64(l.PerValue) && end <= int64(l.Arena) && h.Off%blockBytes == 0
}
