package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck: a call of what the target does not have is an error, also in a test and in a body, and the
// other targets have none.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":         "module m\n\ngo 1.26\n",
		"p/p.go":         "package p\n\nfunc F() int { return only() }\n",
		"p/p_linux.go":   "package p\n\nimport \"syscall\"\n\nfunc only() int { return syscall.Getpid() }\n",
		"p/p_windows.go": "package p\n\nfunc only() int { return 0 }\n\nfunc spare() { _ = none }\n",
		"p/p_test.go":    "package p\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) { t.Log(extra) }\n",
		"p/q_test.go":    "//go:build linux || windows\n\npackage p\n\nconst extra = 1\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		target string
		want   []string // parts of the errors
	}{
		{"linux/386", nil},
		{"windows/amd64", []string{"undefined: none"}},
		{"plan9/amd64", []string{"undefined: only", "undefined: extra"}},
		{"plan9", []string{"want GOOS/GOARCH"}},
		{"none/amd64", []string{"none/amd64"}},
	} {
		n, errs := check(dir, tc.target)
		if len(tc.want) == 0 && n == 0 {
			t.Errorf("%s: no package was checked", tc.target)
		}
		if len(errs) != len(tc.want) {
			t.Errorf("%s: errors %v, want %q", tc.target, errs, tc.want)
			continue
		}
		for i, err := range errs {
			if !strings.Contains(err.Error(), tc.want[i]) {
				t.Errorf("%s: error %v, want %q", tc.target, err, tc.want[i])
			}
		}
	}
	if _, errs := check(t.TempDir(), "linux/386"); len(errs) == 0 {
		t.Error("a folder without a module has no error")
	}
}
