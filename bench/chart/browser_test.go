package chart_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/bench/chart"
	"github.com/lanewright/lanewright/internal/bench"
)

// require is the value of LANEWRIGHT_CHROMIUM with which a missing browser is a failure.
const require = "require"

// browser returns the path of a Chromium, or skips the test.
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("LANEWRIGHT_CHROMIUM") == require {
		t.Fatal("no Chromium was found, and LANEWRIGHT_CHROMIUM requires one")
	}
	t.Skip("no Chromium was found: install it to run this test (Debian: apt-get install chromium)")
	return ""
}

// open opens a page. It returns the document after all scripts have run, and the lines on
// the console.
func open(t *testing.T, path, page string) (document string, console []string) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--user-data-dir="+filepath.Join(dir, "profile"), "--no-first-run", "--enable-logging=stderr", "--dump-dom", "file://"+filepath.ToSlash(file))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	for line := range strings.Lines(errs.String()) {
		if strings.Contains(line, "CONSOLE") {
			console = append(console, line)
		}
	}
	return out.String(), console
}

// TestBrowser checks the page in a browser: the console is empty, and a click on the head of
// a column sorts the table.
func TestBrowser(t *testing.T) {
	path := browser(t)
	t.Run("detection", func(t *testing.T) {
		bad := `<!DOCTYPE html><meta http-equiv="Content-Security-Policy" content="img-src data:"><img src="x.png">` +
			`<script>console.error("written"); throw new Error("thrown")</script>`
		_, console := open(t, path, bad)
		all := strings.Join(console, "")
		for _, want := range []string{"x.png", "written", "thrown"} {
			if !strings.Contains(all, want) {
				t.Errorf("this test does not find %q on the console: %q", want, all)
			}
		}
	})
	t.Run("page", func(t *testing.T) {
		var page bytes.Buffer
		if err := chart.Page(&page, chart.Groups(mixed())); err != nil {
			t.Fatal(err)
		}
		for _, tc := range []struct {
			name, clicks string
			want         []string
		}{
			{"loaded", "", []string{bench.Lanewright, bench.Lanewright, "<b>&amp;", "goroutines", "goroutines", "pond", "pond"}},
			{"sorted by workers", `document.querySelectorAll("th button")[1].click()`, []string{bench.Lanewright, "goroutines", "pond", bench.Lanewright, "<b>&amp;", "goroutines", "pond"}},
			{
				"sorted by median", `document.querySelectorAll("th button")[2].click()`,
				[]string{bench.Lanewright, bench.Lanewright, "<b>&amp;", "goroutines", "goroutines", "pond", "pond"},
			},
			{
				"sorted by median, downward",
				`const b = document.querySelectorAll("th button")[2]; b.click(); b.click()`,
				[]string{"goroutines", "goroutines", "<b>&amp;", bench.Lanewright, bench.Lanewright, "pond", "pond"},
			},
			{
				"sorted by name", `document.querySelectorAll("th button")[0].click()`,
				[]string{"<b>&amp;", "goroutines", "goroutines", bench.Lanewright, bench.Lanewright, "pond", "pond"},
			},
		} {
			t.Run(tc.name, func(t *testing.T) {
				document, console := open(t, path, strings.Replace(page.String(), "</body>", "<script>"+tc.clicks+"</script></body>", 1))
				if len(console) > 0 {
					t.Errorf("on the console: %q", console)
				}
				if got := firstColumn(t, document); !slices.Equal(got, tc.want) {
					t.Errorf("rows = %q, want %q", got, tc.want)
				}
			})
		}
	})
}

var firstCell = regexp.MustCompile(`<tr[^>]*><td>([^/]*)</td>`)

// firstColumn returns the first cells of the first table.
func firstColumn(t *testing.T, document string) []string {
	t.Helper()
	table, _, ok := strings.Cut(document, "</tbody>")
	if !ok {
		t.Fatalf("no table in %q", document)
	}
	var names []string
	for _, m := range firstCell.FindAllStringSubmatch(table, -1) {
		names = append(names, strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(m[1]))
	}
	return names
}
