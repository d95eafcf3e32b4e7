package transport_test

import (
	"bytes"
	"flag"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/transport"
)

var tierTable = flag.Bool("tiers", false, "measure the table of types and tiers, and write it to BENCHMARKS.md")

// TestTierOf checks that each tier ends at its limit. K-052, K-059, K-060.
func TestTierOf(t *testing.T) {
	for _, tc := range []struct {
		n    int
		want transport.Tier
		name string
	}{
		{0, transport.TierHeader, "header"},
		{24, transport.TierHeader, "header"},
		{25, transport.TierInline, "inline"},
		{512, transport.TierInline, "inline"},
		{513, transport.TierArena, "arena"},
		{64 << 20, transport.TierArena, "arena"},
	} {
		if got := transport.TierOf(tc.n); got != tc.want || got.String() != tc.name {
			t.Errorf("TierOf(%d) = %v, want %v", tc.n, got, tc.name)
		}
	}
	for tier, want := range map[transport.Tier]string{transport.TierReference: "reference", 4: "tier(4)", 255: "tier(255)"} {
		if got := tier.String(); got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// tierRow is a value of some type and the way in which it crosses.
type tierRow struct {
	name   string
	tier   transport.Tier
	copies int // copies of the bytes from the sent value to the received one
	bytes  func(tb testing.TB) int
	bench  func(b *testing.B)
}

// row returns the row of v. Its bytes are written to a buffer in place of a slot and
// read from that buffer.
func row[T any](tier transport.Tier, copies int, v T) tierRow {
	encode := func(tb testing.TB, v *T) []byte {
		tb.Helper()
		b, _, err := typeOf[T](tb).Append(nil, v)
		if err != nil {
			tb.Fatal(err)
		}
		return b
	}
	return tierRow{
		name:   reflect.TypeFor[T]().String(),
		tier:   tier,
		copies: copies,
		bytes: func(tb testing.TB) int {
			tb.Helper()
			return len(encode(tb, &v))
		},
		bench: func(b *testing.B) {
			b.Helper()
			typ, v := typeOf[T](b), v
			want := encode(b, &v)
			buf := make([]byte, 0, len(want)+1)
			var got T
			b.ReportAllocs()
			b.SetBytes(int64(len(want)))
			for b.Loop() {
				payload, tag, err := typ.Append(buf, &v)
				if err == nil {
					err = typ.Decode(tag, payload, &got)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			if !bytes.Equal(encode(b, &got), want) {
				b.Fatalf("%v arrived as %v", v, got)
			}
		},
	}
}

// point3 is a struct that crosses as its memory. address is a struct that the codec
// encodes.
type (
	point3  struct{ X, Y, Z float64 }
	address struct {
		Street, City string
		Number       int
	}
)

// The 2 copies are one from the value to the slot and one from the slot to the value. A
// type that marshals itself is decoded from a copy of the bytes because the peer may
// change them concurrently. JSON also makes its output in a buffer of its own.
var tierRows = []tierRow{
	row(transport.TierHeader, 2, true),
	row(transport.TierHeader, 2, 7),
	row(transport.TierHeader, 2, 1.5),
	row(transport.TierHeader, 2, time.Second),
	row(transport.TierHeader, 2, time.Unix(1, 0).UTC()),
	row(transport.TierHeader, 2, [3]int64{1, 2, 3}),
	row(transport.TierInline, 2, [4]int64{1, 2, 3}),
	row(transport.TierHeader, 2, point3{1, 2, 3}),
	row(transport.TierHeader, 2, new(big.Int).Lsh(big.NewInt(1), 183)),
	row(transport.TierInline, 2, new(big.Int).Lsh(big.NewInt(1), 184)),
	row(transport.TierHeader, 2, strings.Repeat("s", 24)),
	row(transport.TierInline, 2, strings.Repeat("s", 25)),
	row(transport.TierInline, 2, strings.Repeat("s", 512)),
	row(transport.TierArena, 2, strings.Repeat("s", 513)),
	row(transport.TierHeader, 2, make([]byte, 24)),
	row(transport.TierInline, 2, make([]byte, 25)),
	row(transport.TierInline, 2, make([]byte, 512)),
	row(transport.TierArena, 2, make([]byte, 513)),
	row(transport.TierArena, 2, make([]byte, 64<<10)),
	row(transport.TierHeader, 2, make([]float64, 3)),
	row(transport.TierInline, 2, make([]float64, 4)),
	row(transport.TierInline, 2, make([]float64, 64)),
	row(transport.TierArena, 2, make([]float64, 65)),
	row(transport.TierInline, 2, make([]point3, 2)),
	row(transport.TierHeader, 3, netip.MustParseAddr("1.2.3.4")),
	row(transport.TierInline, 4, address{"Main Street", "Springfield", 7}),
	row(transport.TierInline, 4, map[string]int{"one": 1, "two": 2, "three": 3}),
	row(transport.TierArena, 4, strings.Split(strings.Repeat("text ", 100), " ")),
}

// tiersMarker is the line of BENCHMARKS.md before the table, and tiersHead its head.
const (
	tiersMarker = "<!-- tiers -->\n\n"
	tiersHead   = "| Go type | bytes | tier | copies | ns/op | allocs/op |\n| --- | ---: | --- | ---: | ---: | ---: |\n"
)

// TestTierTable checks that the tier of each row of the table follows from its size
// alone. The table in BENCHMARKS.md has these rows for a machine of 64 bits. K-062.
// With -tiers the test measures the rows and writes the table there.
func TestTierTable(t *testing.T) {
	page := filepath.Join("..", "BENCHMARKS.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), tiersMarker+tiersHead)
	old, after, ok := strings.Cut(rest, "\n\n")
	if !ok {
		t.Fatal("BENCHMARKS.md has no table of the tiers")
	}
	var table strings.Builder
	lines := strings.Split(old, "\n")
	for i, r := range tierRows {
		n := r.bytes(t)
		if transport.TierOf(n) != r.tier {
			t.Errorf("%s of %d bytes: the table says %v", r.name, n, r.tier)
		}
		start := fmt.Sprintf("| `%s` | %d | %v | %d |", r.name, n, transport.TierOf(n), r.copies)
		if *tierTable {
			m := testing.Benchmark(r.bench)
			fmt.Fprintf(&table, "%s %d | %d |\n", start, m.NsPerOp(), m.AllocsPerOp())
		} else if strconv.IntSize == 64 && (len(lines) != len(tierRows) || !strings.HasPrefix(lines[i], start)) {
			t.Fatalf("BENCHMARKS.md has %d rows of %d, not %q; write them with\n\tgo test ./transport -run TestTierTable -tiers", len(lines), len(tierRows), start)
		}
	}
	if *tierTable {
		if err := os.WriteFile(page, []byte(before+tiersMarker+tiersHead+table.String()+"\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkTiers measures the time to encode and decode a value.
func BenchmarkTiers(b *testing.B) {
	for _, r := range tierRows {
		b.Run(fmt.Sprintf("type=%s/bytes=%d/tier=%v", strings.ReplaceAll(r.name, " ", ""), r.bytes(b), r.tier), r.bench)
	}
}
