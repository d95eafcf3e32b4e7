package process

import (
	"errors"
	"fmt"
	"os"

	"github.com/lanewright/lanewright/internal/child"
	"github.com/lanewright/lanewright/internal/crash"
	"github.com/lanewright/lanewright/internal/futex"
	"github.com/lanewright/lanewright/internal/shm"
	"github.com/lanewright/lanewright/transport"
)

// Attach is the first step of a process that [Start] has started. It returns the end of the worker side of the link, on
// which it has not called [transport.WorkerEnd.Greet]. The memory of the end stays until the process ends, or until the
// caller calls Unmap. From now on the process ends when its host does, and the descriptors are closed that the launcher of
// the host has left open.
//
// ok is false in any other process, in which Attach does nothing. It is also false for a second call. After an error ok
// is true and the process is no use as a worker: the caller prints the error, which then is at the end of [Worker.Tail],
// and ends the process. The error names what the process has got from the host and cannot use.
func Attach() (w *transport.WorkerEnd, ok bool, err error) {
	files, ok, err := child.Attach()
	if ok && err == nil {
		w, err = join(files)
	}
	if err != nil {
		return nil, ok, fmt.Errorf("process: Attach: %w", err)
	}
	return w, ok, nil
}

// join makes the end over the files that the host has passed. They belong to join.
func join(files []*os.File) (w *transport.WorkerEnd, err error) {
	var rs [2]*shm.Region
	defer func() {
		if err == nil {
			return
		}
		for _, r := range rs {
			if r != nil {
				_ = r.Unmap()
			}
		}
		closeAll(files) // again, where their new owner has closed them
	}()
	if len(files) == 0 {
		return nil, errors.New("no descriptors: package child has started the process, and not process.Start")
	}
	l, err := readLetter(files[0])
	_ = files[0].Close()
	if err != nil {
		return nil, fmt.Errorf("the letter: %w", err)
	}
	ofRegions, ofWaker, err := l.share(files[1:])
	if err != nil {
		return nil, err
	}
	for i := range rs {
		if rs[i], err = l.kind.open(ofRegions[i], &l.regions[i], transport.Direction(i)); err != nil {
			return nil, fmt.Errorf("the region of %v: %w", transport.Direction(i), err)
		}
	}
	crash.At(crash.Mapped)
	waker, err := futex.OpenWaker(ofWaker)
	if err != nil {
		return nil, fmt.Errorf("the waker: %w", err)
	}
	w, err = transport.NewWorker(rs[transport.Requests], rs[transport.Answers], waker)
	if err != nil {
		return nil, errors.Join(err, waker.Close())
	}
	return w, nil
}

// share returns which files are those of the regions, nil for those of Named regions, and which are those of the waker.
func (l *letter) share(files []*os.File) (ofRegions [2]*os.File, ofWaker []*os.File, err error) {
	want := l.wakerFiles
	if l.kind.hasDescriptors() {
		want += len(ofRegions)
	}
	if len(files) != want {
		return ofRegions, nil, fmt.Errorf("%d descriptors behind the letter, want %d for %v regions and %d files of the waker",
			len(files), want, l.kind, l.wakerFiles)
	}
	if l.kind.hasDescriptors() {
		files = files[copy(ofRegions[:], files):]
	}
	return ofRegions, files, nil
}
