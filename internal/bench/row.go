package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is one line of results: one benchmark with one number of workers.
type Row struct {
	Bench       string             `json:"bench"`
	Impl        string             `json:"impl"`
	Workers     int                `json:"workers"`
	Value       float64            `json:"value"` // the median of the runs; for latencies, the median of their p50
	Unit        string             `json:"unit"`
	Better      string             `json:"better"`
	Min         float64            `json:"min"` // of all runs
	Max         float64            `json:"max"`
	Runs        int                `json:"runs"`
	Ratios      map[string]float64 `json:"ratios"` // our time divided by that of the reference: less is better
	AllocsPerOp float64            `json:"allocs_per_op"`
	CPUNsPerOp  *float64           `json:"cpu_ns_per_op,omitempty"` // nil where the system does not report it
	P99         *float64           `json:"p99,omitempty"`           // nil without latencies
	RatiosP99   map[string]float64 `json:"ratios_p99,omitempty"`

	RefusedPerOp *float64 `json:"refused_per_op,omitempty"` // nil where no operation can be refused
}

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("bench: %s: %w", r.Bench, err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// WriteTable writes results as a table for people.
func WriteTable(w io.Writer, results []Result) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if _, err := fmt.Fprintln(tw, "benchmark\tworkers\tmedian\tmin .. max\tp99\tratio to (its own figure)\tallocs/op\tCPU/op"); err != nil {
		return err
	}
	for _, res := range results {
		r := res.Row
		p99 := "-"
		if r.P99 != nil {
			p99 = Format(*r.P99, r.Unit)
		}
		cpu := "-"
		if r.CPUNsPerOp != nil {
			cpu = Format(*r.CPUNsPerOp, NsPerOp)
		}
		if _, err := fmt.Fprintf(tw, "%s\t%d\t%s\t%s .. %s\t%s\t%s\t%s\t%s\n", r.Bench, r.Workers,
			Format(r.Value, r.Unit), Format(r.Min, r.Unit), Format(r.Max, r.Unit), p99,
			res.ratios(), strconv.FormatFloat(r.AllocsPerOp, 'g', 4, 64), cpu); err != nil {
			return err
		}
	}
	return tw.Flush()
}

// ratios returns the ratios of the row, each with the figure of its reference.
func (res Result) ratios() string {
	unit := res.Row.Unit
	if unit == Share {
		unit = NsPerOp
	}
	var parts []string
	for _, ref := range res.References {
		ratio, ok := res.Row.Ratios[ref.Name]
		if !ok {
			parts = append(parts, ref.Name+" - ("+Format(ref.Value, unit)+")")
			continue
		}
		part := fmt.Sprintf("%s %.3g", ref.Name, ratio)
		if p99, ok := res.Row.RatiosP99[ref.Name]; ok {
			part += fmt.Sprintf(", p99 %.3g (%s, p99 %s)", p99, Format(ref.Value, unit), Format(ref.P99, unit))
		} else {
			part += " (" + Format(ref.Value, unit) + ")"
		}
		if ours := res.Row.RefusedPerOp; ours != nil {
			part += fmt.Sprintf(", refused %.3g for each (%.3g)", *ours, ref.RefusedPerOp)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// Format returns value with its unit. For a time it chooses ns, µs, ms or s.
func Format(value float64, unit string) string {
	if math.IsNaN(value) {
		return "-"
	}
	switch unit {
	case NsPerOp:
		switch {
		case value < 1e3:
			return fmt.Sprintf("%.3g ns", value)
		case value < 1e6:
			return digits(value/1e3) + " µs"
		case value < 1e9:
			return digits(value/1e6) + " ms"
		default:
			return digits(value/1e9) + " s"
		}
	case Share:
		return fmt.Sprintf("%.3f", value)
	case BytesPerTask, BytesPerLane:
		return digits(value) + " B"
	case Threads:
		return fmt.Sprintf("%.3g threads", value)
	case MsCPU:
		return fmt.Sprintf("%.3f ms", value)
	case OpsPerSecond:
		if value >= 1e6 {
			return digits(value/1e6) + " M op/s"
		}
		return digits(value) + " op/s"
	default:
		return digits(value) + " " + unit
	}
}

// digits returns x with three significant digits and no exponent.
func digits(x float64) string {
	switch a := math.Abs(x); {
	case a >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(x, 'f', 1, 64)
	default:
		return strconv.FormatFloat(x, 'f', 2, 64)
	}
}
