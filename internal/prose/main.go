package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lanewright/lanewright/internal/prose/style"
)

func main() {
	out, errs, code := run(os.Args[1:])
	fmt.Print(out)
	fmt.Fprint(os.Stderr, errs)
	os.Exit(code)
}

// errLimit reports that a rate is above -max.
var errLimit = errors.New("above the limit")

// run returns the output, the error output and the exit code of the command.
func run(args []string) (string, string, int) {
	var out, errs strings.Builder
	err, code := check(args, &out, &errs), 2
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return out.String(), errs.String(), 0
	case errors.Is(err, errLimit):
		code = 1
	}
	fmt.Fprintln(&errs, "prose:", err)
	return out.String(), errs.String(), code
}

// options are the flags.
type options struct {
	limit   float64 // negative: none
	each    bool
	quiet   bool
	by      string
	tests   bool
	shape   bool
	classes []style.Class
	style   style.Options
}

func parseFlags(args []string, errs *strings.Builder) (o options, paths []string, err error) {
	f := flag.NewFlagSet("prose", flag.ContinueOnError)
	f.SetOutput(errs)
	f.Float64Var(&o.limit, "max", -1, "fail above `N` findings per 1000 words")
	f.BoolVar(&o.each, "each", false, "apply -max to each file")
	f.BoolVar(&o.quiet, "q", false, "print the rates only")
	f.StringVar(&o.by, "by", "dir", "rates by `dir|file`")
	f.BoolVar(&o.tests, "tests", false, "read *_test.go in directories as well")
	f.BoolVar(&o.style.Strings, "strings", false, "read string literals as well")
	f.BoolVar(&o.shape, "shape", false, "print the shape of the sentences")
	only := f.String("only", "", "`CLASSES` to report")
	terms := f.String("terms", "", "`FILE` with more private words")
	if err = f.Parse(args); err != nil {
		return o, nil, err
	}
	if o.by != "dir" && o.by != "file" {
		return o, nil, fmt.Errorf("-by: %q is neither dir nor file", o.by)
	}
	for c := range strings.SplitSeq(*only, ",") {
		if c == "" {
			continue
		}
		if !slices.Contains(style.Classes, style.Class(c)) {
			return o, nil, fmt.Errorf("-only: there is no class %q", c)
		}
		o.classes = append(o.classes, style.Class(c))
	}
	if *terms != "" {
		if o.style.Terms, err = readTerms(*terms); err != nil {
			return o, nil, err
		}
	}
	if f.NArg() == 0 {
		return o, nil, errors.New("no file or directory is given; -h prints the flags")
	}
	return o, f.Args(), nil
}

// readTerms returns the built-in terms with the changes of a file.
func readTerms(name string) ([]style.Term, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	more, err := style.ParseTerms(string(data))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	all := slices.Clone(style.Terms())
	for _, t := range more {
		all = slices.DeleteFunc(all, func(b style.Term) bool { return b.Pattern == t.Pattern })
		if t.Instead != "-" {
			all = append(all, t)
		}
	}
	return all, nil
}

// A row is the sum of a file, a directory or the whole.
type row struct {
	words int
	count map[style.Class]int
	shape style.Shape
}

func (r *row) add(rep style.Report) {
	r.words += rep.Words
	r.shape.Add(rep.Shape)
	for _, f := range rep.Findings {
		r.count[f.Class]++
	}
}

func (r *row) findings() (n int) {
	for _, c := range r.count {
		n += c
	}
	return n
}

func check(args []string, out, errs *strings.Builder) error {
	o, paths, err := parseFlags(args, errs)
	if err != nil {
		return err
	}
	names, err := find(paths, o.tests)
	if err != nil {
		return err
	}
	rows := map[string]*row{}
	total := &row{count: map[style.Class]int{}}
	var above error
	for _, name := range names {
		src, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rep := style.Check(name, src, o.style)
		if len(o.classes) > 0 {
			rep.Findings = slices.DeleteFunc(rep.Findings, func(f style.Finding) bool { return !slices.Contains(o.classes, f.Class) })
		}
		if !o.quiet && !o.shape {
			for _, f := range rep.Findings {
				fmt.Fprintln(out, line(name, f))
			}
		}
		if n := len(rep.Findings); o.each && o.limit >= 0 && float64(n) > max(1, o.limit*float64(rep.Words)/1000) {
			fmt.Fprintf(errs, "prose: %s: %d findings, %.1f per 1000 words\n", name, n, rep.Rate())
			above = fmt.Errorf("%w of %g per 1000 words", errLimit, o.limit)
		}
		key := name
		if o.by == "dir" {
			key = filepath.Dir(name)
		}
		if rows[key] == nil {
			rows[key] = &row{count: map[style.Class]int{}}
		}
		rows[key].add(rep)
		total.add(rep)
	}
	if o.shape {
		printShapes(out, rows, total)
		return nil
	}
	printRates(out, rows, total)
	if !o.each && o.limit >= 0 && style.Rate(total.findings(), total.words) > o.limit {
		above = fmt.Errorf("%w of %g per 1000 words", errLimit, o.limit)
	}
	return above
}

// line returns the line of output for a finding.
func line(name string, f style.Finding) string {
	text := fmt.Sprintf("%s:%d: %s: %s", name, f.Line, f.Class, f.Text)
	if f.Instead != "" {
		text += " -> " + f.Instead
	}
	return text + ": " + fmt.Sprintf("%.160s", f.Sentence)
}

// find returns the files to read. A path is a file or a directory.
func find(paths []string, tests bool) (names []string, err error) {
	for _, p := range paths {
		err := filepath.WalkDir(p, func(name string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir():
				if name != p && skipped(d.Name()) {
					return filepath.SkipDir
				}
			case !style.Reads(name):
			case name == p, tests, !strings.HasSuffix(name, "_test.go"):
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// skipped reports whether a directory holds no text of this repository.
func skipped(dir string) bool {
	return dir[0] == '.' && dir != ".ci" || slices.Contains([]string{"testdata", "vendor", "node_modules", "charts"}, dir)
}

func printRates(out *strings.Builder, rows map[string]*row, total *row) {
	fmt.Fprintf(out, "%8s", "words")
	for _, c := range style.Classes {
		fmt.Fprintf(out, "%11s", c)
	}
	fmt.Fprintf(out, "%8s  per 1000 words\n", "all")
	each(rows, total, func(name string, r *row) {
		fmt.Fprintf(out, "%8d", r.words)
		for _, c := range style.Classes {
			fmt.Fprintf(out, "%11.2f", style.Rate(r.count[c], r.words))
		}
		fmt.Fprintf(out, "%8.2f  %s\n", style.Rate(r.findings(), r.words), name)
	})
}

func printShapes(out *strings.Builder, rows map[string]*row, total *row) {
	fmt.Fprintln(out, "sentences  words  breaks  >=4 breaks  pronouns/1000")
	each(rows, total, func(name string, r *row) {
		s := r.shape
		n := float64(max(1, s.Sentences))
		fmt.Fprintf(out, "%9d%7.1f%8.2f%11.1f%%%15.0f  %s\n", s.Sentences, float64(s.Words)/n, s.BreaksPerSentence(),
			100*float64(s.Crowded)/n, style.Rate(s.Pronouns, s.Words), name)
	})
}

// each calls f for the rows that hold words in the order of their names. It calls f for
// the total last.
func each(rows map[string]*row, total *row, f func(string, *row)) {
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if rows[name].words > 0 {
			f(name, rows[name])
		}
	}
	f("TOTAL", total)
}
