// Command typecheck type-checks the packages of a module and their tests for other systems and
// processors. It needs no compiled standard library, so it takes seconds for a target for which go vet
// takes a minute and more. It finds what a missing or a different declaration of that target breaks. It
// runs no analyzers: go vet does so for a few targets.
//
// Usage: typecheck [-dir DIR] GOOS/GOARCH ...
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

func main() {
	dir := flag.String("dir", ".", "the folder of the module")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: typecheck [-dir DIR] GOOS/GOARCH ...")
		os.Exit(2)
	}
	failed := false
	for _, target := range flag.Args() {
		began := time.Now()
		n, errs := check(*dir, target)
		for _, err := range errs {
			fmt.Fprintf(os.Stderr, "%s: %v\n", target, err)
		}
		failed = failed || len(errs) > 0
		fmt.Printf("typecheck %s: %d packages, %v\n", target, n, time.Since(began).Round(100*time.Millisecond))
	}
	if failed {
		os.Exit(1)
	}
}

// check type-checks the packages of the module in dir for a target. It returns the number of
// packages and the errors, each once.
func check(dir, target string) (n int, errs []error) {
	system, processor, ok := strings.Cut(target, "/")
	if !ok {
		return 0, []error{fmt.Errorf("want GOOS/GOARCH")}
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax |
			packages.NeedTypes | packages.NeedTypesSizes | packages.NeedModule,
		Dir:       dir,
		Env:       append(os.Environ(), "GOOS="+system, "GOARCH="+processor, "CGO_ENABLED=0"),
		Tests:     true,
		ParseFile: parse,
	}, "./...")
	if err != nil {
		return 0, []error{err}
	}
	if len(pkgs) == 0 {
		return 0, []error{fmt.Errorf("no packages in %s", dir)}
	}
	seen := map[string]bool{}
	for p := range packages.Postorder(pkgs) {
		if len(p.GoFiles) > 0 && strings.HasPrefix(p.GoFiles[0], goroot) {
			continue // its functions have lost their bodies: see parse
		}
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] { // a package and its variant for a test have the same errors
				seen[text] = true
				errs = append(errs, e)
			}
		}
		if p.Module != nil && p.Module.Main {
			n++
		}
	}
	return n, errs
}

// goroot has the sources of the standard library.
var goroot = filepath.Join(runtime.GOROOT(), "src") + string(filepath.Separator)

// parse parses a file, and without the bodies of its functions if it is one of the standard library:
// the types of these need no body.
func parse(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if f == nil || !strings.HasPrefix(name, goroot) {
		return f, err
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			d.Body = nil
		}
	}
	return f, err
}
