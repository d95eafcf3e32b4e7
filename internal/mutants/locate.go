package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
)

// locate returns the place in the work tree of the n lines of code at origin. It
// searches the folder of the file first, and the whole module if the folder does not
// contain the code.
//
// The same code may be in several places, in the revision and in the work tree. A
// place of the work tree belongs to the place of the revision that it resembles most.
// If the declaration of origin is still in the folder, the code must be in it.
// Otherwise a copy would be taken for code that has changed.
func (r *rehunk) locate(origin place, n int) (place, error) {
	near := func(file string) bool {
		dir := path.Dir(file)
		return dir == path.Dir(origin.file) || dir == path.Dir(r.nowOf(origin.file))
	}
	decl := r.old.decl(origin)
	kept := len(r.now.find(1, near, func(c codeLine, _ int) bool { return r.names.same(decl, c.decl) })) > 0
	for _, in := range []func(file string) bool{near, func(string) bool { return true }} {
		var others []place
		want := r.old[origin.file].code[origin.at:]
		for _, o := range r.old.find(n, in, func(c codeLine, i int) bool { return c.text == want[i].text }) {
			if o != origin {
				others = append(others, o)
			}
		}
		found := r.now.find(n, in, func(c codeLine, i int) bool { return r.names.same(want[i].text, c.text) })
		found = slices.DeleteFunc(found, func(p place) bool {
			return kept && !r.names.same(decl, r.now.decl(p)) ||
				slices.ContainsFunc(others, func(o place) bool { return r.compare(o, origin, p, n) > 0 })
		})
		if len(found) > 0 {
			return r.best(found, others, origin, n)
		}
	}
	return place{}, fmt.Errorf("the code of %s of %s is not in the work tree", cmp.Or(decl, "the file scope"), origin.file)
}

// best returns the place of found that resembles origin most. It fails if two places
// resemble origin equally, or if the place resembles one of others as much.
func (r *rehunk) best(found, others []place, origin place, n int) (place, error) {
	slices.SortFunc(found, func(a, b place) int {
		return cmp.Or(
			slices.Compare(r.likeness(origin, b, n), r.likeness(origin, a, n)),
			cmp.Compare(a.file, b.file), cmp.Compare(a.at, b.at),
		)
	})
	p := found[0]
	tie := len(found) > 1 && slices.Equal(r.likeness(origin, p, n), r.likeness(origin, found[1], n))
	if tie || slices.ContainsFunc(others, func(o place) bool { return r.compare(o, origin, p, n) == 0 }) {
		var where []string
		for _, p := range found {
			where = append(where, fmt.Sprintf("%s:%d", p.file, r.now[p.file].code[p.at].line+1))
		}
		return place{}, fmt.Errorf("the code of %s of %s is in several places, and its neighbours do not decide: %s",
			cmp.Or(r.old.decl(origin), "the file scope"), origin.file, strings.Join(where, ", "))
	}
	return p, nil
}

// compare returns +1 if p resembles a more than b, -1 if it resembles b more, and 0 if
// it resembles both equally.
func (r *rehunk) compare(a, b, p place, n int) int {
	return slices.Compare(r.likeness(a, p, n), r.likeness(b, p, n))
}

// likeness returns how much p in the work tree resembles o in the revision. The
// criteria are the declaration, the file, the lines of code around, and the comments,
// the most important first.
func (r *rehunk) likeness(o, p place, n int) []int {
	was, is := r.old[o.file], r.now[p.file]
	common := func(was, is []string) (n int) {
		for _, code := range is {
			if slices.ContainsFunc(was, func(c string) bool { return r.names.same(c, code) }) {
				n++
			}
		}
		return n
	}
	var decl, file, comments int
	if r.names.same(r.old.decl(o), r.now.decl(p)) {
		decl++
		if path.Dir(r.nowOf(o.file)) == path.Dir(p.file) {
			decl++
		}
	}
	if r.nowOf(o.file) == p.file {
		file++
	}
	if slices.EqualFunc(was.notes(o.at, n), is.notes(p.at, n), r.names.same) {
		comments++
	}
	wasBefore, wasAfter := was.around(o.at, n)
	isBefore, isAfter := is.around(p.at, n)
	return []int{decl, file, common(wasBefore, isBefore) + common(wasAfter, isAfter), comments}
}

// nowOf returns the path in the work tree of a file of the revision.
func (r *rehunk) nowOf(file string) string {
	if to := r.movedTo[file]; to != "" {
		return to
	}
	return file
}
