package transport

import "fmt"

// Tier is the way that the bytes of a payload travel.
type Tier uint8

// The tiers, from the cheapest.
const (
	TierHeader    Tier = iota // in the header of the slot: up to ValueBytes
	TierInline                // in the slot, behind its header: up to InlineBytes
	TierArena                 // in blocks of the region that the sender allocates
	TierReference             // not at all: a descriptor crosses, see Moved and Shared
)

// TierOf returns the tier of a payload of n bytes: nothing but the size decides.
// It is never [TierReference], which the sender has to ask for.
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

// String returns the name of the tier, as the tables in BENCHMARKS.md have it.
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return fmt.Sprintf("tier(%d)", uint8(t))
}
