package transport

import "fmt"

// Tier is the way in which the bytes of a payload travel.
type Tier uint8

// The tiers, the cheapest first.
const (
	TierHeader    Tier = iota // in the header of the slot: up to ValueBytes
	TierInline                // in the slot, behind the header: up to InlineBytes
	TierArena                 // in blocks of the region that the sender allocates
	TierReference             // not at all: a descriptor crosses in their place, see Moved and Shared
)

// TierOf returns the tier of a payload of n bytes. The size alone decides. The result
// is never [TierReference], which only the sender can choose.
func TierOf(n int) Tier {
	switch {
	case n <= ValueBytes:
		return TierHeader
	case n <= InlineBytes:
		return TierInline
	}
	return TierArena
}

var tierNames = [...]string{"header", "inline", "arena", "reference"}

// String returns the name of the tier in the tables of BENCHMARKS.md.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("tier(%d)", uint8(t))
}
