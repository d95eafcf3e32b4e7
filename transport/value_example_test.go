package transport_test

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"reflect"

	"github.com/lanewright/lanewright/transport"
)

// A struct of two numbers crosses as its memory.
func ExampleType() {
	type pair struct{ a, b int32 }
	typ, err := transport.TypeOf[pair](nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	sent, got := pair{1, 2}, pair{}
	payload, tag, err := typ.Append(nil, &sent)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = typ.Decode(tag, payload, &got)
	fmt.Println(tag, len(payload), got, err)
	// Output: fixed 8 {1 2} <nil>
}

// Bytes that are not a value of the type are refused. The bytes of another type are
// refused too.
func ExampleType_hostile() {
	typ, err := transport.TypeOf[bool](nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	var v bool
	fmt.Println(typ.Decode(transport.TagBool, []byte{2}, &v))
	fmt.Println(typ.Decode(transport.TagInt8, []byte{1}, &v))
	// Output:
	// transport: bad payload: 1 bytes for bool, tag bool
	// transport: bad payload tag: int8, want bool for bool
}

// Without a Type the tag gives the type of the bytes.
func ExampleTag() {
	for _, v := range []any{int8(7), []float64{0.5}, "text", nil} {
		payload, tag, err := transport.AppendAny(nil, v, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		got, err := transport.DecodeAny(tag, payload, nil)
		fmt.Printf("%v: %T %v, %v\n", tag, got, got, err)
	}
	// Output:
	// int8: int8 7, <nil>
	// []float64: []float64 [0.5], <nil>
	// string: string text, <nil>
	// nil: <nil> <nil>, <nil>
}

func ExampleTier() {
	for _, n := range []int{24, 25, 512, 513} {
		fmt.Println(n, transport.TierOf(n))
	}
	// Output:
	// 24 header
	// 25 inline
	// 512 inline
	// 513 arena
}

// gobCodec encodes values with encoding/gob.
type gobCodec struct{}

func (gobCodec) Name() string { return "gob" }

func (gobCodec) Append(dst []byte, v any) ([]byte, error) {
	b := bytes.NewBuffer(dst)
	err := gob.NewEncoder(b).Encode(v)
	return b.Bytes(), err
}

func (gobCodec) Decode(src []byte, v any) error {
	return gob.NewDecoder(bytes.NewReader(src)).Decode(v)
}

func ExampleCodec() {
	typ, err := transport.TypeOf[map[float64]string](gobCodec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	sent, got := map[float64]string{0.5: "half"}, map[float64]string{}
	payload, tag, err := typ.Append(nil, &sent)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = typ.Decode(tag, payload, &got)
	fmt.Println(tag, got, err)
	// Output: coded map[0.5:half] <nil>
}

// JSON names the part that it would lose, with the path to it.
func ExampleTypeChecker() {
	type query struct {
		Text    string
		Results chan string
	}
	c := transport.JSON.(transport.TypeChecker)
	fmt.Println(c.CheckType(reflect.TypeFor[[]query]()))
	// Output: transport: unsupported payload: []transport_test.query[].Results is of type chan string: a channel belongs to its process
}
