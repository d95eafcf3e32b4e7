package chart

import (
	"cmp"
	"slices"

	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

// Group holds the rows of one benchmark.
type Group struct {
	Bench, Unit, Better string
	Rows                []rows.Row // by implementation: the best first, those without a value last
	Workers             []int      // the numbers of workers, ascending
}

// Groups sorts rows into groups. The groups have the order in which their names appear. A
// later row replaces an earlier row with the same name, implementation and workers.
func Groups(all []rows.Row) []*Group {
	var groups []*Group
	for _, r := range all {
		i := slices.IndexFunc(groups, func(g *Group) bool { return g.Bench == r.Bench && g.Unit == r.Unit })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &Group{Bench: r.Bench, Unit: r.Unit, Better: r.Better})
		}
		groups[i].add(r)
	}
	for _, g := range groups {
		g.sort()
	}
	return groups
}

// add adds a row, or replaces the row with the same implementation and workers.
func (g *Group) add(r rows.Row) {
	same := func(o rows.Row) bool { return o.Impl == r.Impl && o.Workers == r.Workers }
	if i := slices.IndexFunc(g.Rows, same); i >= 0 {
		g.Rows[i] = r
		return
	}
	g.Rows = append(g.Rows, r)
	if !slices.Contains(g.Workers, r.Workers) {
		g.Workers = append(g.Workers, r.Workers)
	}
}

// sort orders the implementations by their values with the largest number of workers.
func (g *Group) sort() {
	slices.Sort(g.Workers)
	key := map[string]rows.Row{}
	for _, r := range g.Rows {
		old, ok := key[r.Impl]
		if !ok || r.HasValue() && (!old.HasValue() || r.Workers > old.Workers) {
			key[r.Impl] = r
		}
	}
	slices.SortStableFunc(g.Rows, func(a, b rows.Row) int {
		ka, kb := key[a.Impl], key[b.Impl]
		by := cmp.Compare(ka.Value, kb.Value)
		if g.Better == bench.More {
			by = -by
		}
		return cmp.Or(-compare(ka.HasValue(), kb.HasValue()), by, cmp.Compare(a.Impl, b.Impl), cmp.Compare(a.Workers, b.Workers))
	})
}

// compare orders false before true.
func compare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// Impls returns the implementations, the best first.
func (g *Group) Impls() []string {
	var names []string
	for _, r := range g.Rows {
		if !slices.Contains(names, r.Impl) {
			names = append(names, r.Impl)
		}
	}
	return names
}

// logSpan is the largest ratio of the values on a linear scale.
const logSpan = 100

// span returns the least and the greatest figure of the chart, error bars included. log
// reports whether their ratio is too large for a linear scale.
func (g *Group) span() (lo, hi float64, log bool) {
	for i, r := range g.valued() {
		least, most := min(r.Min, r.Value), max(r.Max, r.Value)
		if i == 0 {
			lo, hi = least, most
		}
		lo, hi = min(lo, least), max(hi, most)
	}
	return lo, hi, lo > 0 && hi > logSpan*lo
}

// valued returns the rows that have a value.
func (g *Group) valued() []rows.Row {
	return slices.DeleteFunc(slices.Clone(g.Rows), func(r rows.Row) bool { return !r.HasValue() })
}
