package transport_test

import (
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

// Structs with the methods of an embedded field, and two that declare their own.
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

// TestEmbeddedMethods: a struct does not cross by methods that know only one of its
// fields, or that cannot be called on a new one: C-041, V-10.
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
		{unsupported[struct{ *big.Int }](), "struct { *big.Int }: what reads it may be a method of the embedded Int, which is nil then"},
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
