package transport_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/transport"
)

// The types of the table of TestUnsupported.
type (
	job struct {
		Name string
		Opts []option
	}
	option struct {
		Done chan struct{}
	}
	closed struct {
		S string
		t string
	}
	Base  struct{ S string }
	inner struct{ S string }
	left  struct{ Base }
	right struct{ Base }
	Loop  struct {
		*Loop
		S string
	}
	oneWay   struct{ S string }
	otherWay struct{ S string }
	list     struct {
		S    string
		Next *list
	}
	record struct {
		ID    int64
		Name  string
		Tags  []string
		Attrs map[string]int
		At    time.Time
		Next  *record
		Raw   []byte
		F     float64
	}
)

// Keys and texts with methods of their own.
type (
	textKey    string
	writtenKey string
	level      int
	degree     int
	pair       [2]byte
	deepList   struct {
		V    []string
		Next *deepList
	}
	timedList struct {
		At   time.Time
		Next *timedList
	}
)

func (textKey) MarshalText() ([]byte, error)    { return []byte("text"), nil }
func (*textKey) UnmarshalText([]byte) error     { return nil }
func (writtenKey) MarshalText() ([]byte, error) { return []byte("text"), nil }
func (level) MarshalText() ([]byte, error)      { return []byte("level"), nil }
func (d degree) MarshalText() ([]byte, error)   { return []byte{'a' + byte(d)}, nil }
func (d *degree) UnmarshalText(b []byte) error  { *d = degree(b[0] - 'a'); return nil }
func (p pair) MarshalText() ([]byte, error)     { return p[:], nil }
func (p *pair) UnmarshalText(b []byte) error    { copy(p[:], b); return nil }

// Numbers whose methods do not apply the option string.
type (
	serial       int64
	quotedDegree struct {
		D degree `json:"d,string"`
	}
	quotedSerial struct {
		S *serial `json:",omitempty,string"`
	}
	quotedNumber struct {
		N *int        `json:",string"`
		S string      `json:",string"`
		J json.Number `json:",string"`
		D degree      `json:"string"`
	}
)

func (s serial) MarshalJSON() ([]byte, error)  { return json.Marshal(int64(s) + 1) }
func (s *serial) UnmarshalJSON(b []byte) error { *s = serial(b[0] - '1'); return nil }

// Structs with a method IsZero.
type (
	absence struct {
		At   time.Time
		Gone bool
	}
	absenceP struct {
		At   time.Time
		Gone bool
	}
)

func (a absence) IsZero() bool   { return a.Gone }
func (a *absenceP) IsZero() bool { return a.Gone }

// Structs with methods that cancel each other out in a struct that embeds both.
type (
	Left  struct{ L any }
	Right struct{ R any }
	sides struct {
		Left
		*Right
	}
)

func (l Left) MarshalJSON() ([]byte, error)   { return json.Marshal(l.L) }
func (l *Left) UnmarshalJSON(b []byte) error  { return json.Unmarshal(b, &l.L) }
func (r Right) MarshalJSON() ([]byte, error)  { return json.Marshal(r.R) }
func (r *Right) UnmarshalJSON(b []byte) error { return json.Unmarshal(b, &r.R) }

func (oneWay) MarshalJSON() ([]byte, error) { return []byte(`1`), nil }

func (*otherWay) UnmarshalJSON([]byte) error { return nil }

// Embedded structs that are not exported and have methods.
type (
	empty    struct{ S struct{} }
	absent   struct{ S string }
	absentP  struct{ S string }
	textLeft struct{ S string }
	textSide struct{ S string }
	named1   struct {
		absent `json:"x,omitzero"`
	}
	named2 struct {
		absentP `json:"x,omitzero"`
	}
	namedSides struct {
		textLeft `json:"l"`
		textSide `json:"r"`
	}
)

func (a absent) IsZero() bool                       { return a.S == "" }
func (a *absentP) IsZero() bool                     { return a.S == "" }
func (l textLeft) MarshalText() ([]byte, error)     { return []byte(l.S), nil }
func (l *textLeft) UnmarshalText(text []byte) error { l.S = string(text); return nil }
func (s textSide) MarshalText() ([]byte, error)     { return []byte(s.S), nil }
func (s *textSide) UnmarshalText(text []byte) error { s.S = string(text); return nil }

// shade is a key that has the same text as any other.
type shade int

func (shade) MarshalText() ([]byte, error) { return []byte("grey"), nil }
func (*shade) UnmarshalText([]byte) error  { return nil }
func (shade) String() string               { return "a shade" }

// unsupported returns the error of TypeOf for T.
func unsupported[T any]() error {
	_, err := transport.TypeOf[T](nil)
	return err
}

// jsonRefuses returns the error of CheckType for t.
func jsonRefuses(t reflect.Type) error { return transport.JSON.(transport.TypeChecker).CheckType(t) }

// twoNamedX is a struct that go vet would reject as a declaration.
var twoNamedX = reflect.StructOf([]reflect.StructField{
	{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"x"`},
	{Name: "B", Type: reflect.TypeFor[string](), Tag: `json:"x,omitempty"`},
})

// badName is another such struct. encoding/json accepts no name with a quote. Both
// fields are therefore A.
var badName = reflect.StructOf([]reflect.StructField{
	{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"it's"`},
	{Name: "B", Type: reflect.TypeFor[string](), Tag: `json:"A"`},
})

// TestUnsupported checks that a type is refused if its values would not arrive
// unchanged. The error has the type and the path to the part at fault. C-005, C-041, K-141,
// V-10.
func TestUnsupported(t *testing.T) {
	const noCall = "JSON cannot call the methods of an embedded struct that is not exported and has a name"
	const inQuotes = "the option string applies where JSON reads it and not where its method writes it"
	for _, tc := range []struct {
		err  error
		want string
	}{
		{unsupported[chan int](), "chan int: a channel belongs to its process"},
		{unsupported[func()](), "func(): a function belongs to its process"},
		{jsonRefuses(reflect.TypeOf(reflect.ValueOf(new(int)).UnsafePointer())), "unsafe.Pointer: an address belongs to its process"},
		{unsupported[uintptr](), "uintptr: an address belongs to its process"},
		{unsupported[sync.Mutex](), "sync.Mutex: a lock belongs to its process"},
		{unsupported[*sync.Mutex](), "*sync.Mutex: a lock belongs to its process"},
		{unsupported[atomic.Int64](), "atomic.Int64._ is of type atomic.noCopy: a lock belongs to its process"},
		{unsupported[error](), ""},
		{unsupported[struct{ E error }](), "struct { E error }.E is of type error: the reader cannot know which type an interface with methods held"},
		{unsupported[job](), "transport_test.job.Opts[].Done is of type chan struct {}: a channel belongs to its process"},
		{unsupported[*job](), "*transport_test.job.Opts[].Done is of type chan struct {}: a channel belongs to its process"},
		{unsupported[map[string][2]*option](), "map[string][2]*transport_test.option[key][].Done is of type chan struct {}: a channel belongs to its process"},
		{unsupported[struct {
			A int
			P uintptr
		}](), "struct { A int; P uintptr }.P is of type uintptr: an address belongs to its process"},
		{unsupported[closed](), "transport_test.closed.t is of type string: JSON leaves out a field that is not exported"},
		{unsupported[struct{ inner }](), ""},
		{unsupported[struct{ *inner }](), "struct { *transport_test.inner }.inner is of type *transport_test.inner: JSON cannot make an embedded struct that is not exported"},
		{unsupported[struct{ name }](), "struct { transport_test.name }.name is of type transport_test.name: JSON leaves out a field that is not exported"},
		{unsupported[struct {
			left
			right
		}](), "struct { transport_test.left; transport_test.right }.right.Base is of type transport_test.Base: JSON leaves out a struct that is embedded twice, or in itself"},
		{unsupported[Loop](), "transport_test.Loop.Loop is of type *transport_test.Loop: JSON leaves out a struct that is embedded twice, or in itself"},
		{unsupported[struct {
			Base
			S string
		}](), "struct { transport_test.Base; S string }.S is of type string: JSON leaves out a field whose name another one has"},
		{unsupported[struct {
			empty
			inner
			N string
		}](), "struct { transport_test.empty; transport_test.inner; N string }.inner.S is of type string: JSON leaves out a field whose name another one has"},
		{unsupported[struct {
			empty
			N string
		}](), ""},
		{unsupported[named1](), "transport_test.named1.absent is of type transport_test.absent: " + noCall},
		{unsupported[named2](), "transport_test.named2.absentP is of type transport_test.absentP: " + noCall},
		{unsupported[namedSides](), "transport_test.namedSides.textLeft is of type transport_test.textLeft: " + noCall},
		{jsonRefuses(twoNamedX), `struct { A string "json:\"x\""; B string "json:\"x,omitempty\"" }.B is of type string: JSON leaves out a field whose name another one has`},
		{jsonRefuses(badName), `struct { A string "json:\"it's\""; B string "json:\"A\"" }.B is of type string: JSON leaves out a field whose name another one has`},
		{unsupported[map[textKey]int](), "map[transport_test.textKey]int: JSON writes such a key as it is, and reads it by UnmarshalText"},
		{unsupported[map[writtenKey]int](), ""},
		{unsupported[map[level]int](), "map[transport_test.level]int: a key has one of MarshalText and UnmarshalText"},
		{unsupported[map[degree]int](), ""},
		{unsupported[map[pair]int](), ""},
		{unsupported[map[float64]int](), "map[float64]int: JSON has no such keys"},
		{unsupported[map[any]int](), "map[interface {}]int: JSON has no such keys"},
		{unsupported[map[string]complex128](), "map[string]complex128[key] is of type complex128: JSON has no complex numbers"},
		{unsupported[oneWay](), "transport_test.oneWay: it has MarshalJSON and no UnmarshalJSON"},
		{unsupported[otherWay](), "transport_test.otherWay: it has UnmarshalJSON and no MarshalJSON"},
		{unsupported[map[uintptr]int](), "map[uintptr]int: JSON has no such keys"},
		{unsupported[map[string]big.Int](), "map[string]big.Int[key] is of type big.Int: MarshalJSON is a method of the pointer, and here there is none"},
		{unsupported[map[string]*big.Int](), ""},
		{unsupported[[]big.Int](), ""},
		{unsupported[list](), ""},
		{unsupported[record](), ""},
		{unsupported[struct {
			_ noCopy
			S string
		}](), "struct { _ transport_test.noCopy; S string }._ is of type transport_test.noCopy: a lock belongs to its process"},
		{unsupported[struct {
			_ [4]byte
			S string
			h chan int `json:"-"`
		}](), ""},
		{unsupported[map[time.Time]string](), ""},
		{jsonRefuses(reflect.TypeFor[quotedDegree]()), "transport_test.quotedDegree.D is of type transport_test.degree: " + inQuotes},
		{unsupported[quotedSerial](), "transport_test.quotedSerial.S is of type *transport_test.serial: " + inQuotes},
		{unsupported[quotedNumber](), ""},
		{unsupported[map[struct{ A string }]string](), "map[struct { A string }]string: JSON has no such keys"},
	} {
		switch {
		case tc.want == "" && tc.err != nil:
			t.Errorf("got %v", tc.err)
		case tc.want != "" && (!errors.Is(tc.err, transport.ErrUnsupportedPayload) || tc.err.Error() != "transport: unsupported payload: "+tc.want):
			t.Errorf("got  %v\nwant %s", tc.err, tc.want)
		}
	}
}

// TestUnsupportedValues checks that faults are refused that only a value shows. They
// are in the contents of interfaces, and in texts and numbers that JSON would change.
// C-041, K-141, V-10.
func TestUnsupportedValues(t *testing.T) {
	circle := map[string]any{}
	circle["self"] = []any{circle}
	var pointer any
	pointer = &pointer
	const nothing = "JSON makes a nil pointer of one that points at nil"
	null := any([]int(nil))
	raw, none := json.RawMessage(" null"), json.RawMessage(nil)
	rawNull := any(raw)
	odd := time.Unix(1000, 0).In(time.FixedZone("", 3601))
	type held struct {
		V any
		w any `json:"-"`
	}
	for _, tc := range []struct {
		v    any
		want string
	}{
		{func() {}, "func(): a function belongs to its process"},
		{make(chan int), "chan int: a channel belongs to its process"},
		{errors.New("x"), "errors.errorString.s is of type string: JSON leaves out a field that is not exported"},
		{closed{"a", "b"}, "transport_test.closed.t is of type string: JSON leaves out a field that is not exported"},
		{&closed{t: "b"}, "transport_test.closed.t is of type string: JSON leaves out a field that is not exported"},
		{map[string]any{"f": func() {}}, `map[string]interface {}["f"] is of type func(): a function belongs to its process`},
		{[]any{1, map[int]any{7: option{}}}, `[]interface {}[1][7].Done is of type chan struct {}: a channel belongs to its process`},
		{held{V: &held{V: [1]any{closed{}}}}, "transport_test.held.V.V[0].t is of type string: JSON leaves out a field that is not exported"},
		{held{V: *big.NewInt(1)}, "transport_test.held.V is of type big.Int: MarshalJSON is a method of the pointer, and here there is none"},
		{[]string{"ok", "\xff"}, "[]string[1] is of type string: JSON changes a string that is not UTF-8"},
		{map[string]int{"\xff": 1}, `map[string]int["\xff"] is of type string: JSON changes a key that is not UTF-8`},
		{map[string][]float64{"a": {0, math.NaN()}}, `map[string][]float64["a"][1] is of type float64: JSON has no NaN`},
		{[]pair{{'a', 'b'}, {0xff, 0xfe}}, `[]transport_test.pair[1] is of type transport_test.pair: JSON changes a text that is not UTF-8`},
		{map[pair]int{{0xff, 0xfe}: 1}, `map[transport_test.pair]int[[255 254]] is of type transport_test.pair: JSON changes a key that is not UTF-8`},
		{record{At: odd}, `transport_test.record.At is of type time.Time: JSON has no zone of 3601 s east of UTC`},
		{&record{Next: &record{At: odd}}, `transport_test.record.Next.At is of type time.Time: JSON has no zone of 3601 s east of UTC`},
		{map[time.Time]int{odd: 1}, fmt.Sprintf("map[time.Time]int[%v] is of type time.Time: JSON has no zone of 3601 s east of UTC", odd)},
		{[]stamp{{odd}}, `[]transport_test.stamp[0] is of type transport_test.stamp: JSON has no zone of 3601 s east of UTC`},
		{[]struct{ stamp }{{stamp{odd}}}, `[]struct { transport_test.stamp }[0] is of type struct { transport_test.stamp }: JSON has no zone of 3601 s east of UTC`},
		{map[stamp]int{{odd}: 1}, fmt.Sprintf("map[transport_test.stamp]int[%v] is of type transport_test.stamp: JSON has no zone of 3601 s east of UTC", odd)},
		{sides{Left: Left{closed{}}}, "transport_test.sides.Left.L.t is of type string: JSON leaves out a field that is not exported"},
		{sides{Right: &Right{closed{}}}, "transport_test.sides.Right.R.t is of type string: JSON leaves out a field that is not exported"},
		{[]*[]int{{}, new([]int)}, `[]*[]int[1] is of type *[]int: ` + nothing},
		{struct{ M *map[string]int }{new(map[string]int)}, `struct { M *map[string]int }.M is of type *map[string]int: ` + nothing},
		{map[string]*any{"a": new(any)}, `map[string]*interface {}["a"] is of type *interface {}: ` + nothing},
		{[]*any{&null}, `[]*interface {}[0] is of type *interface {}: ` + nothing},
		{struct{ R *json.RawMessage }{&raw}, `struct { R *json.RawMessage }.R is of type *json.RawMessage: ` + nothing},
		{[]*json.RawMessage{&none}, `[]*json.RawMessage[0] is of type *json.RawMessage: ` + nothing},
		{[]*any{&rawNull}, `[]*interface {}[0] is of type *interface {}: ` + nothing},
		{map[shade]string{1: "a", 2: "b"}, `map[transport_test.shade]string[a shade] is of type transport_test.shade: JSON has the same text for another key`},
		{[]any{odd}, `[]interface {}[0] is of type time.Time: JSON has no zone of 3601 s east of UTC`},
		{[]struct {
			N  big.Int // is refused when it has no address
			At time.Time
		}{{At: odd}}, "[]struct { N big.Int; At time.Time }[0].At is of type time.Time: JSON has no zone of 3601 s east of UTC"},
		{[]json.Number{"1", ""}, `[]json.Number[1] is of type json.Number: JSON makes 0 of an empty number`},
		{[]any{float32(math.Inf(-1))}, `[]interface {}[0] is of type float32: JSON has no -Inf`},
	} {
		b, _, err := transport.AppendAny([]byte("x"), tc.v, nil)
		if want := "transport: unsupported payload: " + tc.want; !errors.Is(err, transport.ErrUnsupportedPayload) || err.Error() != want || string(b) != "x" {
			t.Errorf("%q\ngot  %v\nwant %s", b, err, want)
		}
	}
	for _, v := range []any{circle, pointer} {
		if _, _, err := transport.AppendAny(nil, v, nil); !errors.Is(err, transport.ErrUnsupportedPayload) || !strings.HasSuffix(err.Error(), "it is too deep, or refers to itself") {
			t.Errorf("got %v", err)
		}
	}
	ring := &list{S: "a"}
	ring.Next = ring
	if _, _, err := transport.AppendAny(nil, ring, nil); !errors.Is(err, transport.ErrUnsupportedPayload) {
		t.Errorf("got %v", err)
	}
	if b, _, err := transport.AppendAny([]byte("x"), []any{json.Number("no")}, nil); string(b) != "x" || !errors.Is(err, transport.ErrUnsupportedPayload) {
		t.Errorf("a number that is not valid: %q, %v", b, err)
	}
	if _, _, err := transport.AppendAny(nil, held{V: 1, w: 2}, nil); err != nil {
		t.Errorf("a field with the tag \"-\": %v", err)
	}
}

// TestJSONDepth checks that a value of any depth is either refused or encoded and
// decoded.
func TestJSONDepth(t *testing.T) {
	var plain *deepList
	var timed *timedList
	at := time.Unix(0, 0).UTC()
	for n := 1; n <= 10_001; n++ {
		plain, timed = &deepList{Next: plain}, &timedList{At: at, Next: timed}
		if n < 10_000 {
			continue
		}
		for name, v := range map[string]any{"plain": plain, "timed": timed} {
			b, tag, err := transport.AppendAny(nil, v, nil)
			if n == 10_000 && err == nil {
				_, err = transport.DecodeAny(tag, b, nil)
			}
			if want := n > 10_000; errors.Is(err, transport.ErrUnsupportedPayload) != want || (err != nil) != want {
				t.Errorf("%s: %d deep: %v", name, n, err)
			}
		}
	}
	wide := make([]struct{ S []string }, 10_001) // many brackets, and not deep
	wide[0].S = []string{strings.Repeat(`[{"\`, 4_000)}
	wantSame(t, wide, transport.TagCoded)
}

// TestJSONFollowsTags checks that values change as the tags of their type request. They
// also change where JSON has one form for two values.
func TestJSONFollowsTags(t *testing.T) {
	type Empty struct {
		N int `json:",omitempty"`
	}
	type asked struct {
		S    []string       `json:",omitempty"`
		M    map[string]int `json:",omitempty"`
		At   time.Time      `json:",omitzero"`
		R, Q json.RawMessage
		P    **int
		*Empty
	}
	zero := time.Time{}.In(time.FixedZone("", 3600))
	v := asked{[]string{}, map[string]int{}, zero, nil, json.RawMessage("{ }"), new(*int), &Empty{}}
	want := asked{R: json.RawMessage("null"), Q: json.RawMessage("{}")}
	if got, _, _ := cross(t, typeOf[asked](t), v); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	wantSame(t, []*[]int{{}, {1}, nil}, transport.TagCoded)
	nothing := json.RawMessage("[null]")
	wantSame(t, []*json.RawMessage{&nothing, nil}, transport.TagCoded)
	wantSame(t, map[shade]string{0: "a"}, transport.TagCoded)
	wantSame(t, []*any(nil), transport.TagCoded) // at the root there is always a pointer
	wantSame(t, sides{Left{"l"}, &Right{"r"}}, transport.TagCoded)
	wantSame(t, quotedNumber{new(int), "1", "1", 1}, transport.TagCoded)
	wantSame(t, map[degree]int{1: 2}, transport.TagCoded)
	wantSame(t, map[writtenKey]int{"a": 2}, transport.TagCoded)
}

// TestJSONOmitted checks that a field that is not written may hold a value that JSON
// does not have.
func TestJSONOmitted(t *testing.T) {
	type left struct {
		N  json.Number  `json:",omitempty"`
		A  [0]time.Time `json:",omitempty"`
		Z  json.Number  `json:",omitzero"`
		S  []string
		V  any        `json:"-"`
		P  *time.Time `json:",omitzero"`
		w  any        `json:"-"`
		At time.Time  `json:",omitzero"`
		B  absence    `json:",omitzero"` // IsZero decides, also for the next two
		C  absenceP   `json:",omitzero"`
		D  *absence   `json:",omitzero"`
	}
	odd := time.Unix(1000, 0).In(time.FixedZone("", 3601))
	v := left{S: []string{"a"}, V: func() {}, w: odd, At: time.Time{}.In(odd.Location()), B: absence{odd, true}, C: absenceP{odd, true}, D: &absence{odd, true}}
	want := left{S: []string{"a"}}
	if got, _, _ := cross(t, typeOf[[]left](t), []left{v}); !reflect.DeepEqual(got, []left{want}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	// A value in a map has no address, and IsZero of absenceP needs one.
	if got, _, _ := cross(t, typeOf[map[string]left](t), map[string]left{"k": v}); !reflect.DeepEqual(got["k"], want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	for _, v := range []any{
		left{P: &odd},
		left{At: odd},
		left{B: absence{At: odd}},
		left{C: absenceP{At: odd}},
		left{D: &absence{At: odd}},
		struct {
			N json.Number `json:"omitempty"` // this is a name, not an option
		}{},
		struct {
			At time.Time `json:",omitempty"` // a struct is never empty
		}{time.Time{}.In(odd.Location())},
	} {
		if _, _, err := transport.AppendAny(nil, v, nil); !errors.Is(err, transport.ErrUnsupportedPayload) {
			t.Errorf("%+v: %v", v, err)
		}
	}
}

// TestJSONText checks that a valid text crosses unchanged. It may look like the escape
// that JSON writes for an invalid text.
func TestJSONText(t *testing.T) {
	for _, s := range []string{`\ufffd`, "\ufffd", "<&>", "\u2028", "\x00\x7f", `"\`, "\n"} {
		wantSame(t, struct{ S []string }{[]string{s}}, transport.TagCoded)
	}
}

// TestJSONTypes checks that values that the codec encodes arrive unchanged. JSON is the
// codec if none is named. K-061.
func TestJSONTypes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var draw func(depth int) *record
		draw = func(depth int) *record {
			r := &record{
				ID:   rapid.Int64().Draw(t, "id"),
				Name: rapid.String().Draw(t, "name"),
				Tags: rapid.SliceOf(rapid.String()).Draw(t, "tags"),
				Raw:  rapid.SliceOf(rapid.Byte()).Draw(t, "raw"),
				F:    rapid.Float64().Draw(t, "f"),
				At:   time.Unix(rapid.Int64Range(0, 1<<37).Draw(t, "at"), 5).UTC(),
			}
			if rapid.Bool().Draw(t, "map") {
				r.Attrs = rapid.MapOf(rapid.String(), rapid.Int()).Draw(t, "attrs")
			}
			if depth > 0 && rapid.Bool().Draw(t, "next") {
				r.Next = draw(depth - 1)
			}
			return r
		}
		typ, err := transport.TypeOf[*record](nil)
		if err != nil {
			t.Fatal(err)
		}
		v := draw(3)
		got, b, tag := cross(t, typ, v)
		if !reflect.DeepEqual(got, v) || tag != transport.TagCoded {
			t.Fatalf("%+v arrived as %+v, tag %v", v, got, tag)
		}
		if !json.Valid(b) {
			t.Fatalf("the default codec wrote %q, which is not JSON", b)
		}
		if n, ok := typ.Size(&v); ok {
			t.Fatalf("Size = %d, though only the codec knows it", n)
		}
	})
}

// TestJSONAny checks that a value without a static type comes back as JSON decodes its
// bytes alone.
func TestJSONAny(t *testing.T) {
	type pair struct{ A, B int }
	for _, tc := range []struct{ v, want any }{
		{pair{1, 2}, map[string]any{"A": 1.0, "B": 2.0}},
		{&pair{1, 2}, map[string]any{"A": 1.0, "B": 2.0}},
		{(*pair)(nil), nil},
		{[]string{"a"}, []any{"a"}},
		{map[string]any{"a": nil, "b": []any{true}}, map[string]any{"a": nil, "b": []any{true}}},
		{[]any{time.Unix(0, 0).UTC(), []int{1}, (*pair)(nil)}, []any{"1970-01-01T00:00:00Z", []any{1.0}, nil}},
		{word(7), 7.0},
		{name("n"), "n"},
	} {
		b, tag, err := transport.AppendAny(nil, tc.v, nil)
		if err != nil || tag != transport.TagCoded {
			t.Fatalf("AppendAny(%#v): %v, %v", tc.v, tag, err)
		}
		if got, err := transport.DecodeAny(tag, b, transport.JSON); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%#v arrived as %#v, %v; want %#v", tc.v, got, err, tc.want)
		}
	}
	if b, err := transport.JSON.Append([]byte("x"), nil); string(b) != "xnull" || err != nil || transport.JSON.Name() != "json" {
		t.Errorf("Append(nil) = %q, %v", b, err)
	}
	deep := any(1)
	for range 9_000 {
		deep = []any{deep}
	}
	b, tag, err := transport.AppendAny(nil, deep, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.DecodeAny(tag, b, nil); err != nil {
		t.Error(err)
	}
	b = []byte(strings.Repeat("[", 1<<20))
	if _, err := transport.DecodeAny(transport.TagCoded, b, nil); !errors.Is(err, transport.ErrBadPayload) {
		t.Errorf("a million open brackets: %v", err)
	}
}

// TestJSONConcurrently checks that many goroutines may use one type at the same time.
func TestJSONConcurrently(t *testing.T) {
	type fresh struct{ V any }
	errs := make(chan error)
	const n = 8
	for range n {
		go func() {
			_, _, err := transport.AppendAny(nil, fresh{fresh{[]string{"a"}}}, nil)
			errs <- err
		}()
	}
	within(t, "AppendAny", func() {
		for range n {
			if err := <-errs; err != nil {
				t.Error(err)
			}
		}
	})
}
