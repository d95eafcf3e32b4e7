package lint_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestReadme runs each program that README.md shows, and compares what it
// prints with the comment at its last Println.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	programs := regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(text, -1)
	if len(programs) == 0 {
		t.Fatal("README.md shows no program")
	}
	for _, p := range programs {
		want := regexp.MustCompile(`Println\(.*\) // (.*)\n`).FindSubmatch(p[1])
		if want == nil {
			t.Fatalf("the program does not say what it prints:\n%s", p[1])
		}
		got := runProgram(t, p[1])
		if got != string(want[1])+"\n" {
			t.Errorf("the program prints %q, and its comment says %q", got, want[1])
		}
	}
}

// runProgram runs a program as if it stood in this module.
func runProgram(t *testing.T, text []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(dir, "internal", "lint", "program", "main.go"): file},
	})
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "run", "-overlay", list, "./internal/lint/program")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}
