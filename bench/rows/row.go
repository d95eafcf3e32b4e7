package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"slices"

	"github.com/lanewright/lanewright/internal/bench"
)

// Row is a line of results with an optional note. A row without runs has no value, and its
// note has the reason.
type Row struct {
	bench.Row
	Note string
}

// HasValue reports whether the row has a value.
func (r Row) HasValue() bool { return r.Runs > 0 }

// bare is the JSON form of a row without figures.
type bare struct {
	Bench   string `json:"bench"`
	Impl    string `json:"impl"`
	Workers int    `json:"workers"`
	Unit    string `json:"unit,omitempty"`
	Better  string `json:"better,omitempty"`
	Note    string `json:"note"`
}

// noted is the JSON form of a row with figures.
type noted struct {
	bench.Row
	Note string `json:"note,omitempty"`
}

// MarshalJSON encodes r. A row without runs has no fields for figures.
func (r Row) MarshalJSON() ([]byte, error) {
	if r.HasValue() {
		return json.Marshal(noted(r))
	}
	return json.Marshal(bare{r.Bench, r.Impl, r.Workers, r.Unit, r.Better, r.Note})
}

// UnmarshalJSON decodes both forms.
func (r *Row) UnmarshalJSON(text []byte) error { return json.Unmarshal(text, (*noted)(r)) }

// WriteJSON writes the row as one line.
func (r Row) WriteJSON(w io.Writer) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("rows: %s of %s: %w", r.Bench, r.Impl, err)
	}
	_, err = w.Write(append(line, '\n'))
	return err
}

// Read reads rows, one in a line. It skips empty lines. Any other line that is not a row is
// an error.
func Read(r io.Reader) ([]Row, error) {
	var all []Row
	s := bufio.NewScanner(r)
	s.Buffer(nil, 1<<20)
	for n := 1; s.Scan(); n++ {
		line := bytes.TrimSpace(s.Bytes())
		if len(line) == 0 {
			continue
		}
		var row Row
		if err := json.Unmarshal(line, &row); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if row.Bench == "" || row.Impl == "" || row.Workers < 1 {
			return nil, fmt.Errorf("line %d: a row needs bench, impl and workers", n)
		}
		if !row.HasValue() && row.Note == "" {
			return nil, fmt.Errorf("line %d: a row without runs needs a note", n)
		}
		all = append(all, row)
	}
	return all, s.Err()
}

// ReadFile reads the rows of a file.
func ReadFile(name string) ([]Row, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	all, err := Read(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return all, nil
}

// Sorted iterates over m in the order of its keys.
func Sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
