// Command mandelbrot writes a picture of the Mandelbrot set as a PNG file.
//
//	go run ./examples/mandelbrot -o set.png
//	go run ./examples/mandelbrot -x -0.7436 -y 0.1318 -zoom 1000 -iterations 2000
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"os/signal"
	"time"

	"github.com/lanewright/lanewright/par"
	"github.com/lanewright/lanewright/sched"
)

func main() {
	var v view
	flag.IntVar(&v.width, "width", 1920, "pixels in a row")
	flag.IntVar(&v.height, "height", 1080, "rows")
	flag.IntVar(&v.iterations, "iterations", 500, "steps after which a point counts as in the set")
	flag.Float64Var(&v.x, "x", -0.5, "real part of the center")
	flag.Float64Var(&v.y, "y", 0, "imaginary part of the center")
	flag.Float64Var(&v.zoom, "zoom", 1, "magnification; 1 shows the whole set")
	file := flag.String("o", "mandelbrot.png", "the file to write")
	workers := flag.Int("workers", 0, "how many workers compute; 0 means one for each processor")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: mandelbrot [flags]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 0 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	if err := run(ctx, v, *file, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "mandelbrot:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, v view, file string, workers int) error {
	if err := v.check(); err != nil {
		return err
	}
	s, err := sched.New(sched.Config{MaxWorkers: workers})
	if err != nil {
		return err
	}
	defer func() { _, _ = s.Close() }() // ends the workers
	start := time.Now()
	img, err := render(ctx, s, v)
	if err != nil {
		return err
	}
	fmt.Printf("%d x %d pixels: %.1f ms, %d workers\n", v.width, v.height, time.Since(start).Seconds()*1000, s.MaxWorkers())
	return write(file, img)
}

func write(file string, img image.Image) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(png.Encode(f, img), f.Close()) // a full disk may be reported by Close only
}

// view is the visible part of the complex plane, its resolution and its depth.
type view struct {
	width, height int
	iterations    int
	x, y, zoom    float64
}

func (v view) check() error {
	const most = 1 << 14
	switch {
	case v.width < 1 || v.width > most || v.height < 1 || v.height > most:
		return fmt.Errorf("the size is %d x %d: each must be 1 to %d", v.width, v.height, most)
	case v.iterations < 1:
		return fmt.Errorf("-iterations is %d: it must be 1 or more", v.iterations)
	case !(v.zoom > 0):
		return fmt.Errorf("-zoom is %v: it must be greater than 0", v.zoom)
	}
	return nil
}

// render computes the picture. When ctx ends first it returns the cause.
//
// The rows take very different times, because a point of the set takes all iterations.
// That needs no tuning: a worker without work takes half of the rows that another one
// has left.
func render(ctx context.Context, s *sched.Scheduler, v view) (*image.Paletted, error) {
	img := image.NewPaletted(image.Rect(0, 0, v.width, v.height), colors())
	err := par.ForContext(ctx, s, v.height, func(y int) error {
		v.row(img, y)
		return nil
	})
	return img, err
}

// row computes the pixels of row y. No other row shares memory with it.
func (v view) row(img *image.Paletted, y int) {
	pixels := img.Pix[y*img.Stride:][:v.width]
	for x := range pixels {
		pixels[x] = v.pixel(x, y)
	}
}

// pixel returns the index of the color of a pixel.
func (v view) pixel(x, y int) uint8 {
	step := 1 / (v.zoom * min(float64(v.width)/3.5, float64(v.height)/2.5)) // the width of a pixel in the plane
	n := escape(
		v.x+(float64(x)+0.5-float64(v.width)/2)*step,
		v.y-(float64(y)+0.5-float64(v.height)/2)*step,
		v.iterations,
	)
	if n == v.iterations {
		return inside
	}
	return uint8(1 + n%255)
}

// escape iterates z = z*z + c from z = 0 and returns the number of steps after which z
// is more than 2 away from 0. Such a z never returns. escape returns limit when that
// many steps are not enough.
func escape(re, im float64, limit int) int {
	var x, y float64
	for n := range limit {
		if x*x+y*y > 4 {
			return n
		}
		x, y = x*x-y*y+re, 2*x*y+im
	}
	return limit
}

// inside is the color of the set.
const inside = 0

// colors returns black and a ring of 255 colors in which neighbors differ little.
func colors() color.Palette {
	p := color.Palette{inside: color.Black}
	for i := range 255 {
		wave := func(shift float64) uint8 {
			return uint8(127.5 - 127.5*math.Cos(2*math.Pi*(float64(i)*4/255+shift)))
		}
		p = append(p, color.RGBA{R: wave(0), G: wave(0.1), B: wave(0.3), A: 255})
	}
	return p
}
