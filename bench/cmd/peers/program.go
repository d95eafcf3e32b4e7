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
	hangLimit = 6 * time.Second  // for a run that may wait for ever
	longLimit = 15 * time.Minute // for everything else: a net
)

// program is the parent process.
func program(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	if o.list {
		if len(o.alone) > 0 {
			return unknown("-only", o.alone[0])
		}
		printList(stdout, o)
		return nil
	}
	all, err := o.read(slices.Concat(o.in, o.with)) // before anything is measured
	if err != nil {
		return err
	}
	if len(o.in) > 0 && len(all) == 0 {
		return errors.New("there is no row to draw")
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

// printList prints each workload with the peers that do it, those that may hang, and
// those that cannot do it, with the reason.
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

// measuring is a run of measurements.
type measuring struct {
	options
	ours           *ours
	self           string // this program
	stdout, stderr io.Writer
	busy           []string // workloads before which the second processor was not free
	all            []rows.Row
	failed, tried  int
}

// measureAll measures what the options ask for and prints each row when it is there.
// A row that fails does not keep the others from being measured.
func measureAll(ctx context.Context, o options, stdout, stderr io.Writer) ([]rows.Row, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	s := &measuring{options: o, self: self, stdout: stdout, stderr: stderr}
	if o.ours {
		if s.ours, err = buildOurs(ctx); err != nil {
			return nil, err
		}
		defer s.ours.remove()
	}
	if err := s.checkAlone(); err != nil {
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
	if o.ours {
		for _, name := range o.alone {
			for _, workers := range o.workers {
				if err := s.ourRow(ctx, name, workers); err != nil {
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

// checkAlone refuses names that nobody has. Without lanewright it cannot tell them from
// those that lanewright alone has, and notes them.
func (s *measuring) checkAlone() error {
	for _, name := range s.alone {
		switch {
		case s.ours == nil:
			_, _ = fmt.Fprintf(s.stderr, "note: no peer does %s\n", name)
		case !s.ours.has(name):
			return unknown("-only", name)
		}
	}
	return nil
}

// row measures one workload with one number of workers. It returns an error only when
// nothing more is to be measured.
func (s *measuring) row(ctx context.Context, work *peers.Workload, workers int) error {
	if workers > 1 && runtime.NumCPU() > 1 && !bench.Check(ctx).Free() && !slices.Contains(s.busy, work.Name) {
		s.busy = append(s.busy, work.Name)
	}
	if s.ours.has(work.Name) {
		if err := s.ourRow(ctx, work.Name, workers); err != nil {
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
		if err := s.take(ctx, work.Name, p.Name, workers, []rows.Row{row}, err); err != nil {
			return err
		}
	}
	return nil
}

// ourRow measures a benchmark of lanewright.
func (s *measuring) ourRow(ctx context.Context, name string, workers int) error {
	some, err := s.ours.measure(ctx, name, workers, s.runs)
	return s.take(ctx, name, bench.Ours, workers, some, err)
}

// take prints rows, or the error in place of them.
func (s *measuring) take(ctx context.Context, name, impl string, workers int, some []rows.Row, err error) error {
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

// line returns a row for people.
func line(r rows.Row) string {
	text := fmt.Sprintf("%-22s %-15s %3d  ", r.Bench, r.Impl, r.Workers)
	if r.HasValue() {
		text += fmt.Sprintf("%10s  %-22s", bench.Format(r.Value, r.Unit), bench.Format(r.Min, r.Unit)+" .. "+bench.Format(r.Max, r.Unit))
		for name, ratio := range rows.Sorted(r.Ratios) {
			text += fmt.Sprintf("  %s %.3g", name, ratio)
		}
	}
	if r.Note != "" {
		text += "  " + r.Note
	}
	return strings.TrimRight(text, " ")
}

// measured measures one row in a process of its own. A run that may hang and takes
// longer than limit gives a row without a value.
func measured(ctx context.Context, self string, t task, limit time.Duration) (rows.Row, error) {
	said, err := follow(ctx, limit, self, t.args()...)
	switch {
	case err != nil:
		return rows.Row{}, err
	case said.late && !t.workload.MayHang(t.peer):
		return rows.Row{}, fmt.Errorf("a run was not done after %v", limit)
	case said.late:
		unit, better := t.workload.Unit()
		r := rows.Row{Note: note(said.busy, limit)}
		r.Bench, r.Impl, r.Workers, r.Unit, r.Better = t.workload.Name, t.peer.Name, t.workers, unit, better
		return r, nil
	case len(said.rows) != 1:
		return rows.Row{}, fmt.Errorf("the process printed %d rows, want one", len(said.rows))
	default:
		return said.rows[0], nil
	}
}

// note says why a row has no value. Tasks that all wait use no processor time.
func note(busy bool, limit time.Duration) string {
	text := "not done after " + strings.Replace(limit.String(), "s", " s", 1)
	if busy {
		return text
	}
	return "deadlock: " + text
}
