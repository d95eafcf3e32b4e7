package process

import "io"

// Letter is a letter with exported fields.
type Letter struct {
	Kind       Kind
	WakerFiles int
	Sizes      [2]uint64
	Paths      [2]string
}

// Bytes returns the bytes of a letter, without a check.
func (x *Letter) Bytes() []byte {
	l := letter{kind: x.Kind, wakerFiles: x.WakerFiles}
	for d := range l.regions {
		l.regions[d] = place{x.Sizes[d], x.Paths[d]}
	}
	return l.append(nil)
}

// ReadLetter is readLetter.
func ReadLetter(r io.Reader) (*Letter, error) {
	l, err := readLetter(r)
	if err != nil {
		return nil, err
	}
	x := &Letter{Kind: l.kind, WakerFiles: l.wakerFiles}
	for d, p := range l.regions {
		x.Sizes[d], x.Paths[d] = p.size, p.path
	}
	return x, nil
}

// MaxPath is the longest path of a letter, in bytes.
const MaxPath = maxPath

// Observed returns a Worker without a process. It observes ended, and calls wakeOwn.
func Observed(ended <-chan struct{}, wakeOwn func(w *Worker)) *Worker {
	w := &Worker{done: make(chan struct{})}
	go w.observe(ended, func() { wakeOwn(w) })
	return w
}
