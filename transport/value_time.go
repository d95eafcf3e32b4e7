package transport

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

const (
	timeBytes = 16
	zoneUTC   = math.MinInt32 // in place of the seconds east: UTC itself, not another zone with offset 0
)

// appendTime appends the second, the nanosecond and the zone of t in the encoding of
// the table at [TagInvalid].
func appendTime(dst []byte, t time.Time) ([]byte, Tag, error) {
	_, east := t.Zone()
	switch {
	case t.Location() == time.UTC:
		east = zoneUTC
	case east <= zoneUTC || east > math.MaxInt32:
		return dst, TagInvalid, fmt.Errorf("%w: time.Time: its zone is %d s east of UTC", ErrUnsupportedPayload, east)
	}
	dst = binary.NativeEndian.AppendUint64(dst, uint64(t.Unix()))
	dst = binary.NativeEndian.AppendUint32(dst, uint32(t.Nanosecond()))
	dst = binary.NativeEndian.AppendUint32(dst, uint32(int32(east)))
	return dst, TagTime, nil
}

// decodeTime reads a time into *t. Its zone is Local when Local has that offset at that
// time. Otherwise the zone has the offset and no name.
func decodeTime(src []byte, t *time.Time) bool {
	if len(src) != timeBytes {
		return false
	}
	sec := int64(binary.NativeEndian.Uint64(src))
	nsec := binary.NativeEndian.Uint32(src[8:])
	east := int(int32(binary.NativeEndian.Uint32(src[12:])))
	if nsec >= 1e9 {
		return false
	}
	at := time.Unix(sec, int64(nsec))
	if east == zoneUTC {
		*t = at.UTC()
		return true
	}
	if _, here := at.Zone(); east != here {
		at = at.In(time.FixedZone("", east))
	}
	*t = at
	return true
}
