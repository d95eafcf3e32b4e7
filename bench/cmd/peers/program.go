package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/lanewright/lanewright/bench/peers"
	"github.com/lanewright/lanewright/bench/rows"
	"github.com/lanewright/lanewright/internal/bench"
)

const (
	hangLimit = 6 * time.Second  // for a run that can hang
	longLimit = 15 * time.Minute // for any other run
)

// program is the parent process, which measures each row in a child.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.list {
		if len(o.unmatched) > 0 {
			return unknown("-only", o.unmatched[0])
		}
		printList(stdout, o)
		return nil
	}
	all, err := o.read(slices.Concat(o.in, o.with)) // before any measurement
	if err != nil {
		return err
	}
	if len(o.in) > 0 && len(all) == 0 {
		return errors.New("no row to draw")
	}
	if len(o.in) == 0 {
		var measured []rows.Row
		measured, err = measureAll(ctx, o, stdout, stderr)
		all = append(all, measured...)
	}
	if ctx.Err() != nil || len(all) == 0 {
		return err
	}
	return errors.Join(err, draw(o, all))
}

// printList prints each workload with the peers that do it, the peers that may hang, and
// the peers that cannot do it with the reason.
func printList(w io.Writer, o options) {
	for _, work := range o.chosen {
		var do, hang, reasons []string
		cannot := map[string][]string{}
		for _, p := range o.peers {
			reason := work.Cannot(p)
			switch {
			case reason == "":
				do = append(do, p.Name)
			case cannot[reason] == nil:
				reasons = append(reasons, reason)
				fallthrough
			default:
				cannot[reason] = append(cannot[reason], p.Name)
			}
			if reason == "" && work.MayHang(p) {
				hang = append(hang, p.Name)
			}
		}
		_, _ = fmt.Fprintf(w, "%s: %s\n", work.Name, strings.Join(do, ", "))
		if work.Note != "" {
			_, _ = fmt.Fprintf(w, "    size: %s\n", work.Note)
		}
		if len(hang) > 0 {
			_, _ = fmt.Fprintf(w, "    may hang, %v a run: %s\n", hangLimit, strings.Join(hang, ", "))
		}
		for _, reason := range reasons {
			_, _ = fmt.Fprintf(w, "    not %s: %s\n", strings.Join(cannot[reason], ", "), reason)
		}
	}
	_, _ = fmt.Fprintln(w)
	for _, p := range o.peers {
		_, _ = fmt.Fprintf(w, "%-15s %s\n", p.Name, p.About)
	}
}

// measuring is the state of the measurements.
type measuring struct {
	options
	program        *lanewright // nil: without lanewright
	self           string      // the path of this program
	stdout, stderr io.Writer
	busy           []string // workloads before which the second processor was not free
	all            []rows.Row
	failed, tried  int
}

// measureAll measures the rows of the options, the remaining ones also after a failure. It
// prints each row when that is measured.
func measureAll(ctx context.Context, o options, stdout, stderr io.Writer) ([]rows.Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &measuring{options: o, self: self, stdout: stdout, stderr: stderr}
	if o.lanewright {
		if s.program, err = buildLanewright(ctx); err != nil {
			return nil, err
		}
		defer s.program.remove()
	}
	if err := s.checkUnmatched(); err != nil {
		return nil, err
	}
	_, _ = fmt.Fprintf(stderr, "%s %s/%s, %d processors\n%s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), bench.Calibrate(ctx))
	for _, work := range o.chosen {
		for _, workers := range o.workers {
			if err := s.row(ctx, work, workers); err != nil {
				return s.all, err
			}
		}
	}
	if o.lanewright {
		for _, name := range o.unmatched {
			for _, workers := range o.workers {
				if err := s.lanewrightRow(ctx, name, workers); err != nil {
					return s.all, err
				}
			}
		}
	}
	if len(s.busy) > 0 {
		_, _ = fmt.Fprintf(stderr, "warning: the second processor was not free before %s\n", strings.Join(s.busy, ", "))
	}
	if s.failed > 0 {
		return s.all, fmt.Errorf("%d of %d measurements failed", s.failed, s.tried)
	}
	return s.all, nil
}

// checkUnmatched refuses the unmatched names that lanewright does not have either. Without
// lanewright it only prints a note about them.
func (s *measuring) checkUnmatched() error {
	for _, name := range s.unmatched {
		switch {
		case s.program == nil:
			_, _ = fmt.Fprintf(s.stderr, "note: no peer does %s\n", name)
		case !s.program.has(name):
			return unknown("-only", name)
		}
	}
	return nil
}

// row measures one workload with one number of workers. An error ends the measurements.
func (s *measuring) row(ctx context.Context, work *peers.Workload, workers int) error {
	if workers > 1 && runtime.NumCPU() > 1 && !bench.Check(ctx).Free() && !slices.Contains(s.busy, work.Name) {
		s.busy = append(s.busy, work.Name)
	}
	if s.program.has(work.Name) {
		if err := s.lanewrightRow(ctx, work.Name, workers); err != nil {
			return err
		}
	}
	for _, p := range s.peers {
		if work.Cannot(p) != "" {
			continue
		}
		limit := longLimit
		if work.MayHang(p) {
			limit = hangLimit
		}
		row, err := measured(ctx, s.self, task{work, p, workers, s.runs, "full"}, limit)
		if err := s.record(ctx, work.Name, p.Name, workers, []rows.Row{row}, err); err != nil {
			return err
		}
	}
	return nil
}

// lanewrightRow measures a benchmark of lanewright.
func (s *measuring) lanewrightRow(ctx context.Context, name string, workers int) error {
	some, err := s.program.measure(ctx, name, workers, s.runs)
	return s.record(ctx, name, bench.Lanewright, workers, some, err)
}

// record stores and prints rows, or prints the error of their measurement. An error that
// it returns ends the measurements.
func (s *measuring) record(ctx context.Context, name, impl string, workers int, some []rows.Row, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.tried++
	if err != nil {
		s.failed++
		_, _ = fmt.Fprintf(s.stderr, "failed: %s of %s with %d workers: %v\n", name, impl, workers, err)
		return nil
	}
	for _, r := range some {
		s.all = append(s.all, r)
		if s.json {
			if err := r.WriteJSON(s.stdout); err != nil {
				return err
			}
		} else if _, err := fmt.Fprintln(s.stdout, line(r)); err != nil {
			return err
		}
	}
	return nil
}

// line returns a row as text.
func line(r rows.Row) string {
	text := fmt.Sprintf("%-22s %-15s %3d  ", r.Bench, r.Impl, r.Workers)
	if r.HasValue() {
		text += fmt.Sprintf("%10s  %-22s", bench.Format(r.Value, r.Unit), bench.Format(r.Min, r.Unit)+" .. "+bench.Format(r.Max, r.Unit))
		for name, ratio := range rows.Sorted(r.Ratios) {
			text += fmt.Sprintf("  %s %.3g", name, ratio)
		}
		if r.RefusedPerOp != nil {
			text += fmt.Sprintf("  refused %.3g for each", *r.RefusedPerOp)
		}
	}
	if r.Note != "" {
		text += "  " + r.Note
	}
	return strings.TrimRight(text, " ")
}

// measured measures one row in a process of its own. If a run takes longer than limit, the
// result is a row without a value when the workload may hang, and an error otherwise.
func measured(ctx context.Context, self string, t task, limit time.Duration) (rows.Row, error) {
	got, err := follow(ctx, limit, self, t.args()...)
	switch {
	case err != nil:
		return rows.Row{}, err
	case got.late && !t.workload.MayHang(t.peer):
		return rows.Row{}, fmt.Errorf("a run was not done after %v", limit)
	case got.late:
		unit, better := t.workload.Unit()
		r := rows.Row{Note: note(got.busy, limit)}
		r.Bench, r.Impl, r.Workers, r.Unit, r.Better = t.workload.Name, t.peer.Name, t.workers, unit, better
		return r, nil
	case len(got.rows) != 1:
		return rows.Row{}, fmt.Errorf("the process printed %d rows, want one", len(got.rows))
	default:
		return got.rows[0], nil
	}
}

// note returns why a row has no value. In a deadlock the process uses no processor time.
func note(busy bool, limit time.Duration) string {
	text := "not done after " + strings.Replace(limit.String(), "s", " s", 1)
	if busy {
		return text
	}
	return "deadlock: " + text
}
