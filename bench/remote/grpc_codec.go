package remote

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
)

// codec encodes a number as 8 bytes, and a payload as itself. It does less than protobuf, which would copy a payload once
// more on each side.
type codec struct{}

// codecName selects the codec for a call.
const codecName = "lanewright-raw"

func init() { encoding.RegisterCodecV2(codec{}) }

// number is a message with a number.
type number struct{ n int }

// payload is a message with a payload.
type payload struct {
	bytes  []byte     // of a received payload: room for it, or nil
	buffer mem.Buffer // the memory of a payload that was received without room
}

// Name is called by gRPC.
func (codec) Name() string { return codecName }

// Marshal encodes a message. The memory of a payload that was received goes back to gRPC, which frees it.
func (codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *number:
		return mem.BufferSlice{mem.SliceBuffer(binary.LittleEndian.AppendUint64(nil, uint64(m.n)))}, nil
	case *payload:
		if m.buffer != nil {
			return mem.BufferSlice{m.buffer}, nil
		}
		return mem.BufferSlice{mem.SliceBuffer(m.bytes)}, nil
	}
	return nil, fmt.Errorf("remote: the codec cannot encode a %T", v)
}

// Unmarshal decodes a message. A payload is in one piece.
func (codec) Unmarshal(data mem.BufferSlice, v any) error {
	switch m := v.(type) {
	case *number:
		var b [NumberBytes]byte
		if n := data.Len(); n != len(b) {
			return fmt.Errorf("remote: a number has %d bytes", n)
		}
		data.CopyTo(b[:])
		m.n = int(binary.LittleEndian.Uint64(b[:]))
		return nil
	case *payload:
		if n := data.Len(); cap(m.bytes) >= n && n > 0 {
			m.bytes = m.bytes[:n]
			data.CopyTo(m.bytes)
			return nil
		}
		m.buffer = data.MaterializeToBuffer(mem.DefaultBufferPool())
		m.bytes = m.buffer.ReadOnlyData()
		return nil
	}
	return fmt.Errorf("remote: the codec cannot decode a %T", v)
}
