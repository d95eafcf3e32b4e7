package transport_test

import (
	"bytes"
	"fmt"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/lanewright/lanewright/transport"
)

// basics are the types that other types without pointers are made of.
var basics = []reflect.Type{
	reflect.TypeFor[bool](), reflect.TypeFor[int8](), reflect.TypeFor[uint16](), reflect.TypeFor[int32](),
	reflect.TypeFor[uint64](), reflect.TypeFor[float32](), reflect.TypeFor[complex128](), reflect.TypeFor[struct{}](),
}

// fixedTypes generates arrays and structs of the basic types, to a depth.
func fixedTypes(depth int) *rapid.Generator[reflect.Type] {
	basic := rapid.SampledFrom(basics)
	if depth == 0 {
		return basic
	}
	part := fixedTypes(depth - 1)
	return rapid.OneOf(
		basic,
		rapid.Custom(func(t *rapid.T) reflect.Type {
			return reflect.ArrayOf(rapid.IntRange(0, 3).Draw(t, "len"), part.Draw(t, "elem"))
		}),
		rapid.Custom(func(t *rapid.T) reflect.Type {
			var fields []reflect.StructField
			for i := range rapid.IntRange(0, 5).Draw(t, "fields") {
				f := reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: part.Draw(t, "field")}
				if rapid.IntRange(0, 5).Draw(t, "blank") == 0 {
					f.Name, f.PkgPath = "_", "p"
				}
				fields = append(fields, f)
			}
			return reflect.StructOf(fields)
		}),
	)
}

// The kinds of the bytes of a value.
const (
	padding = iota
	data
	truth // a bool
)

// mark writes the kinds of the bytes of a value of type t, which begins at bytes[0].
func mark(kinds []byte, t reflect.Type) {
	switch t.Kind() {
	case reflect.Struct:
		for i := range t.NumField() {
			if f := t.Field(i); f.Name != "_" {
				mark(kinds[f.Offset:], f.Type)
			}
		}
	case reflect.Array:
		for i := range t.Len() {
			mark(kinds[i*int(t.Elem().Size()):], t.Elem())
		}
	case reflect.Bool:
		kinds[0] = truth
	default:
		for i := range t.Size() {
			kinds[i] = data
		}
	}
}

// TestPlanOfAnyType compares the plans of random types with a check of each byte.
func TestPlanOfAnyType(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		typ := fixedTypes(3).Draw(t, "type")
		p, ok := transport.PlanOf(typ)
		if !ok {
			t.Fatalf("%v has no plan", typ)
		}
		const n = 2
		size := int(typ.Size())
		kinds := make([]byte, size)
		mark(kinds, typ)
		kinds = bytes.Repeat(kinds, n)

		src := rapid.SliceOfN(rapid.Byte(), n*size, n*size).Draw(t, "bytes")
		sent, arrived := make([]byte, n*size), bytes.Repeat([]byte{0xee}, n*size)
		valid := true
		for i, k := range kinds {
			switch {
			case k == padding:
				continue
			case k == truth && src[i] > 1:
				valid, arrived[i] = false, 0
				continue
			}
			sent[i], arrived[i] = src[i], src[i]
		}
		got := bytes.Repeat([]byte{0xee}, n*size)
		if ok := p.Copy(got, src, n); ok != valid || !bytes.Equal(got, arrived) {
			t.Fatalf("%v: Copy of %x = %x, %v; want %x, %v", typ, src, got, ok, arrived, valid)
		}
		if valid {
			if got := p.Append([]byte{1}, src, n); !bytes.Equal(got[1:], sent) {
				t.Fatalf("%v: Append of %x = %x, want %x", typ, src, got[1:], sent)
			}
		}
	})
}

// TestNoPlan checks that a type whose values have another meaning elsewhere has no
// plan.
func TestNoPlan(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[string](), reflect.TypeFor[*int](), reflect.TypeFor[[]int](), reflect.TypeFor[any](),
		reflect.TypeFor[map[int]int](), reflect.TypeFor[chan int](), reflect.TypeFor[func()](), reflect.TypeFor[uintptr](),
		reflect.TypeFor[[2]*int](), reflect.TypeFor[struct{ p *int }](), reflect.TypeFor[struct {
			A int
			p uintptr
		}](),
		reflect.TypeFor[noCopy](), reflect.TypeFor[struct {
			_ noCopy
			n int
		}](), reflect.TypeFor[[1]struct {
			m noCopy
			n int
		}](),
	} {
		if _, ok := transport.PlanOf(typ); ok {
			t.Errorf("%v has a plan", typ)
		}
	}
}

// noCopy is a lock for go vet.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}
