package crash

import "fmt"

// Variable is the environment variable that chooses the step at which the process dies. Package crash describes its
// forms.
const Variable = "LANEWRIGHT_CRASH"

// Step is a place in the code at which a process can die.
type Step uint8

// The steps. A worker process has those of its start first.
const (
	Executed       Step = iota + 1 // the program of the worker runs, and has done nothing
	Mapped                         // the worker has mapped both regions
	HelloWritten                   // the worker has greeted in the memory
	ReadyPublished                 // the worker has said that it is ready for calls

	ParkedStored  // a side has announced that it parks
	Parked        // it is about to park
	Woken         // it has been woken, and has not looked yet
	PendingRead   // it has loaded which messages are pending
	HeaderDecoded // it has decoded a header
	BeforeStarted // the worker is about to mark a call as started
	AfterStarted  // it has marked the call
	Handler       // the handler runs; a test has this step in a task
	Claimed       // a side has claimed a slot
	PayloadHalf   // it has written half of a payload of more than transport.ValueBytes
	HeaderHalf    // it has written half of a header
	BeforePublish // it is about to publish the slot
	AfterPublish  // it has published the slot
	BellMoved     // it has changed the doorbell of a parked waiter, and has not woken the waiter
	Rung          // it has woken the waiter
	Acknowledging // it is about to give slots back
	FreeingBlock  // it is about to free the memory of a payload, which no slot has any more
	Closing       // it has marked its end as closed, and has not woken the other side
	Exiting       // the worker has ended its work, and is about to exit

	MemoryMade   // the host has made a sealed region, which is not sealed yet
	MemorySealed // the region is sealed
	Forked       // the process is started, and the host knows nothing of it
	ReadySeen    // the host has received that the worker is ready, and has not looked at that
	Settling     // the host is about to write the outcome of a call
	Draining     // the host is about to receive the answers of a dead process
	Reaping      // the kernel has given the state of the dead process to the host

	Fork // the start of a process, which [Fail] lets fail. No process dies there

	endOfSteps
)

// The sides that have a step.
const (
	host = 1 << iota
	worker
)

var table = [endOfSteps]struct {
	name  string
	sides int
}{
	Executed:       {"exec", worker},
	Mapped:         {"mapped", worker},
	HelloWritten:   {"hello written", worker},
	ReadyPublished: {"READY published", worker},
	ParkedStored:   {"parked stored", host | worker},
	Parked:         {"parked", host | worker},
	Woken:          {"woken", host | worker},
	PendingRead:    {"pending read", host | worker},
	HeaderDecoded:  {"header decoded", host | worker},
	BeforeStarted:  {"before the started word", worker},
	AfterStarted:   {"after the started word", worker},
	Handler:        {"inside the handler", worker},
	Claimed:        {"claimed", host | worker},
	PayloadHalf:    {"half of the payload", host | worker},
	HeaderHalf:     {"half of the header", host | worker},
	BeforePublish:  {"before the publishing store", host | worker},
	AfterPublish:   {"after the publishing store", host | worker},
	BellMoved:      {"between the doorbell and its wake", host | worker},
	Rung:           {"rung", host | worker},
	Acknowledging:  {"acknowledging", host | worker},
	FreeingBlock:   {"freeing payloads", host | worker},
	Closing:        {"closing", host | worker},
	Exiting:        {"exit hook", worker},
	MemoryMade:     {"memory made", host},
	MemorySealed:   {"sealed", host},
	Forked:         {"forked", host},
	ReadySeen:      {"before READY seen", host},
	Settling:       {"settling", host},
	Draining:       {"draining", host},
	Reaping:        {"reaping", host},
	Fork:           {"fork", 0},
}

// String returns the name of the step, which [Variable] has.
func (s Step) String() string {
	if s > 0 && s < endOfSteps {
		return table[s].name
	}
	return fmt.Sprintf("Step(%d)", uint8(s))
}

// Steps returns the steps at which the processes of a side can die, in the order in which this package declares them.
func Steps(ofHost bool) (list []Step) {
	side := worker
	if ofHost {
		side = host
	}
	for s := Executed; s < endOfSteps; s++ {
		if table[s].sides&side != 0 {
			list = append(list, s)
		}
	}
	return list
}
