package main

import (
	"bytes"
	"context"
	"errors"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/examples/internal/cmdtest"
	"github.com/lanewright/lanewright/sched"
)

func TestMain(m *testing.M) { cmdtest.Main(m, main) }

func scheduler(t *testing.T, workers int) *sched.Scheduler {
	t.Helper()
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var small = view{width: 33, height: 15, iterations: 20, x: -0.5, zoom: 1}

// picture shows the set in the view small.
const picture = `
.................................
...................#.............
..................##.............
..................#..............
................#####............
...............#######...........
............##########...........
.......##############............
............##########...........
...............#######...........
................#####............
..................#..............
..................##.............
...................#.............
.................................
`

func TestPicture(t *testing.T) {
	for _, workers := range []int{1, 2, 4} {
		img, err := render(t.Context(), scheduler(t, workers), small)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		got.WriteByte('\n')
		for y := range small.height {
			for x := range small.width {
				if img.ColorIndexAt(x, y) == inside {
					got.WriteByte('#')
				} else {
					got.WriteByte('.')
				}
			}
			got.WriteByte('\n')
		}
		if got.String() != picture {
			t.Errorf("%d workers: got%swant%s", workers, &got, picture)
		}
	}
}

func TestEscape(t *testing.T) {
	for _, tc := range []struct {
		re, im float64
		want   int
	}{
		{0, 0, 50},
		{-1, 0, 50}, // 0, -1, 0, -1, ...
		{-2, 0, 50}, // 0, -2, 2, 2, ...
		{0, 1, 50},  // 0, i, -1+i, -i, -1+i, ...
		{1, 0, 3},   // 0, 1, 2, 5
		{2.1, 0, 1},
		{3, 0, 1},
		{0, -3, 1},
	} {
		if got := escape(tc.re, tc.im, 50); got != tc.want {
			t.Errorf("escape(%v, %v) = %d, want %d", tc.re, tc.im, got, tc.want)
		}
	}
}

// TestRows: each pixel of a picture of many rows is the one that pixel returns.
func TestRows(t *testing.T) {
	v := view{width: 5, height: 2000, iterations: 100, x: -0.7436, y: 0.1318, zoom: 100}
	s := scheduler(t, 4)
	img, err := render(t.Context(), s, v)
	if err != nil {
		t.Fatal(err)
	}
	for y := range v.height {
		for x := range v.width {
			if got, want := img.ColorIndexAt(x, y), v.pixel(x, y); got != want {
				t.Fatalf("pixel %d, %d is %d, want %d", x, y, got, want)
			}
		}
	}
}

// TestInterrupted: the end of the context ends a picture that would take minutes.
func TestInterrupted(t *testing.T) {
	v := view{width: 1, height: 1 << 14, iterations: 1 << 22, zoom: 1e9}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := render(ctx, scheduler(t, 2), v); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
	}
}

func TestProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "set.png")
	stdout, stderr, code := cmdtest.Run(t, "-o", name, "-width", "40", "-height", "30", "-workers", "2")
	if code != 0 || !strings.HasPrefix(stdout, "40 x 30 pixels: ") {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	v := view{width: 40, height: 30, iterations: 500, x: -0.5, zoom: 1}
	for y := range v.height {
		for x := range v.width {
			if got, want := img.At(x, y), colors()[v.pixel(x, y)]; !sameColor(got, want) {
				t.Fatalf("pixel %d, %d of the file is %v, want %v", x, y, got, want)
			}
		}
	}
}

func sameColor(a, b color.Color) bool {
	r1, g1, b1, a1 := a.RGBA()
	r2, g2, b2, a2 := b.RGBA()
	return r1 == r2 && g1 == g2 && b1 == b2 && a1 == a2
}

func TestUsage(t *testing.T) {
	for _, tc := range []struct {
		args string
		code int
		want string // a part of the output
	}{
		{"-width 0", 1, "0 x 1080"},
		{"-height 100000", 1, "1920 x 100000"},
		{"-iterations 0", 1, "-iterations is 0"},
		{"-zoom 0", 1, "-zoom is 0"},
		{"-zoom NaN", 1, "-zoom is NaN"},
		{"-width 1 -height 1 -o " + filepath.Join(t.TempDir(), "none", "set.png"), 1, "set.png"},
		{"-width 0 set.png", 2, "usage: mandelbrot"},
		{"-h", 0, "the file to write"},
	} {
		stdout, stderr, code := cmdtest.Run(t, strings.Fields(tc.args)...)
		if code != tc.code || !strings.Contains(stdout+stderr, tc.want) {
			t.Errorf("mandelbrot %s: exit code %d, want %d and %q in\n%s%s", tc.args, code, tc.code, tc.want, stdout, stderr)
		}
	}
}
