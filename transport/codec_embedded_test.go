package transport_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// Structs with the methods of an embedded field. Two of them declare methods of their
// own.
type (
	named struct {
		time.Time
		Name string
	}
	stamp   struct{ time.Time }
	inNamed struct{ named }
	linked  struct {
		*url.URL
		Name string
	}
	counted struct {
		*big.Int
		N int
	}
	tagged struct {
		time.Time `json:"at"`
		Name      string
	}
	marked struct {
		_ [0]func()
		netip.Addr
	}
	overByValue struct {
		time.Time
		Name string
	}
	overByPointer struct {
		time.Time
		Name string
	}
)

func (o overByValue) MarshalJSON() ([]byte, error) { return json.Marshal(o.Name) }

func (o *overByValue) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &o.Name) }

func (o *overByPointer) MarshalJSON() ([]byte, error) {
	return json.Marshal([]any{o.Time, o.Name})
}

func (o *overByPointer) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&o.Time, &o.Name})
}

// Structs that embed a time and nothing else, with methods of their own for the bytes.
type (
	seconds  struct{ time.Time } // over those of the time, except AppendBinary
	appended struct{ time.Time } // AppendBinary is its own, as the pointer shows
	noted    struct {            // over those of the time by pointer, except AppendBinary
		time.Time
		Note string
	}
)

func (s seconds) MarshalBinary() ([]byte, error) {
	return binary.BigEndian.AppendUint64(nil, uint64(s.Unix())), nil
}

func (s *seconds) UnmarshalBinary(b []byte) error {
	s.Time = time.Unix(int64(binary.BigEndian.Uint64(b)), 0).UTC()
	return nil
}

func (a *appended) AppendBinary(b []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(b, uint64(a.Unix())), nil
}

func (a *appended) UnmarshalBinary(b []byte) error {
	return (*seconds)(a).UnmarshalBinary(b)
}

func (n *noted) MarshalBinary() ([]byte, error) {
	return append(binary.BigEndian.AppendUint64(nil, uint64(n.Unix())), n.Note...), nil
}

func (n *noted) UnmarshalBinary(b []byte) error {
	n.Time, n.Note = time.Unix(int64(binary.BigEndian.Uint64(b)), 0).UTC(), string(b[8:])
	return nil
}

// TestEmbeddedMethodOwner checks that the method of one type never decodes the bytes
// that the method of another type wrote.
func TestEmbeddedMethodOwner(t *testing.T) {
	at := time.Unix(1000, 0).UTC()
	wantSame(t, seconds{at}, transport.TagBinary)
	wantSame(t, &seconds{at}, transport.TagBinary)
	wantSame(t, struct{ seconds }{seconds{at}}, transport.TagBinary)
	wantSame(t, appended{at}, transport.TagBinary)
	wantSame(t, noted{at, "a"}, transport.TagBinary)
}

// TestEmbeddedMethods checks that a struct does not cross through methods that cover
// only one of its fields. The same holds for methods that cannot be called on a new
// value. C-041, V-10.
func TestEmbeddedMethods(t *testing.T) {
	const others = ", which leaves out the other fields"
	for _, tc := range []struct {
		err  error
		want string
	}{
		{unsupported[named](), "transport_test.named: MarshalJSON may be that of the embedded Time" + others},
		{unsupported[*named](), "*transport_test.named: MarshalJSON may be that of the embedded Time" + others},
		{unsupported[inNamed](), "transport_test.inNamed: MarshalJSON may be that of the embedded Time" + others},
		{unsupported[tagged](), "transport_test.tagged: MarshalJSON may be that of the embedded Time" + others},
		{unsupported[[]named](), "[]transport_test.named[] is of type transport_test.named: MarshalJSON may be that of the embedded Time" + others},
		{unsupported[map[named]int](), "map[transport_test.named]int: MarshalText may be that of the embedded Time" + others},
		{unsupported[counted](), "transport_test.counted: MarshalJSON may be that of the embedded Int" + others},
		{unsupported[linked](), "transport_test.linked.URL.User.username is of type string: JSON leaves out a field that is not exported"},
		{unsupported[struct{ *big.Int }](), "struct { *big.Int }: it may be decoded by a method of the embedded Int, which is nil then"},
		{unsupported[overByValue](), "transport_test.overByValue: MarshalJSON may be that of the embedded Time" + others},
	} {
		want := "transport: unsupported payload: " + tc.want
		if !errors.Is(tc.err, transport.ErrUnsupportedPayload) || tc.err.Error() != want {
			t.Errorf("got  %v\nwant %s", tc.err, want)
		}
	}
	at := time.Unix(1000, 5).UTC()
	wantSame(t, stamp{at}, transport.TagBinary)
	wantSame(t, []stamp{{at}}, transport.TagCoded)
	wantSame(t, map[stamp]int{{at}: 1}, transport.TagCoded)
	wantSame(t, marked{Addr: netip.MustParseAddr("1.2.3.4")}, transport.TagBinary)
	wantSame(t, []overByPointer{{at, "a"}}, transport.TagCoded)
}
