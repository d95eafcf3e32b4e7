// Package transport carries calls between the two sides of a lane: the host, which
// sends requests, and the worker, which answers them. Terms are defined in
// docs/GLOSSARY.md.
//
// # Links and sides
//
// A [Link] joins the two sides. It has two regions of memory, one for each direction:
// the host writes requests into one region, and the worker writes answers into the
// other. Each side writes its own region only, and reads the region of the other side.
// A region holds these parts:
//
//   - a mailbox of 32 slots,
//   - the words by which its side publishes and acknowledges slots, and parks,
//   - a table: the abort flags of the host, or the started calls of the worker,
//   - an arena for payloads that do not fit a slot.
//
// No region contains a pointer. So the same code runs over ordinary memory and over
// memory that two processes share. [Link.Host] and [Link.Worker] return the two ends of
// a Link. Both embed [End], which sends, receives and waits.
//
// Of a link between two processes each process has one end. [NewHost] makes that of the
// host over memory that both have mapped. It writes the sizes of the link into the first
// line of the requests. [NewWorker] reads and checks them. The host may map the answers
// for reading only, and the worker the requests. A [Waker] parks each side and wakes the
// other one. [WorkerEnd.Greet] tells the host that the worker is there.
//
// # A call
//
// A call takes these steps:
//
//   - The host takes an abort id with [AbortSet.Acquire], if the call can be aborted.
//   - It takes a slot with [End.Claim] and encodes the argument with [Type.Append],
//     into memory of [End.Reserve] if that saves a copy.
//   - [End.Publish] writes the [Header] and the payload to the slot, shows the slot to
//     the worker, and wakes the worker if it is parked.
//   - The worker receives the message in [End.Drain] and copies the payload. Drain then
//     acknowledges the slot, which is free for another call.
//   - The worker calls [WorkerEnd.Start], decodes the argument, and runs the function.
//     The function may poll [WorkerEnd.Aborted].
//   - The worker answers in the same way, with the ID of the request in the header. An
//     end with one goroutine uses [End.Post], which publishes together with
//     acknowledgements.
//   - The host receives the answer in its own Drain and gives the abort id back.
//
// An end that has nothing to do calls [End.WaitUntil]. A goroutine of its own side ends
// that wait with [End.WakeOwn], for example because the worker has died. Then
// [HostEnd.Started] reports which calls may have run. The parts are also usable alone,
// as [Sender] and [Receiver] are over slots of another type.
//
// # Mailboxes
//
// A mailbox is one direction between two sides. A slot has one bit of its sender and
// one bit of its receiver, and it is busy while the two differ. The sender claims a
// free slot, writes to it, and publishes it by inverting its own bit. The receiver
// reads the slot and acknowledges it by inverting the other bit. [Sender] and
// [Receiver] are the two ends of a mailbox, for slots of any kind. The bits that one
// side writes are the halves of one word, [Side]:
//
//	bits 0..31   publish bit of each slot of the mailbox that this side sends in
//	bits 32..63  acknowledge bit of each slot of the mailbox that it receives in
//
// Bits have no order. Each claim has a ticket, which travels with the slot, and
// [InOrder] sorts slots by their tickets.
//
// # Words
//
// Words that one processor writes and another reads are 256 bytes apart. So no two
// words share a cache line or a pair of adjacent lines on any processor. Numbers in
// slots are little-endian. Words have the byte order of the machine.
//
//	offset  bytes   content
//	0       256     hello: what the side says first. A mark of 4 bytes, "LW" and the
//	                version of the layout; the generation; from 8 on the origin of
//	                the times, the processors of the host, Functions, Aborts,
//	                PayloadInitial, PayloadMax, PayloadPerValue, Spin; at 64 a digest
//	256     8       side word
//	512     4       doorbell: counts rings in steps of 8; the other side parks on it
//	768     4       parked: 0, or the doorbell of the other region that this side
//	                parks on, and in bits 0 to 2 the events that it waits for: a
//	                message, a free slot, an urgent message
//	1024    4       1 + the processor that this side waits on; 0: not known
//	1280    4       closed: not 0 when this side has ended
//	1536    256     reserved
//	1792    18,432  32 slots of 576 bytes: a header of 64, see [Header], and 512
//	                for a payload
//	20,224  64..    requests: abort bits, 32 to a word, in lines of 64 bytes
//	        4,096   answers: 1024 words, the generation of each call that has started
//	...             payloads, in blocks of 64 bytes
//
// # Payloads
//
// A payload takes the cheapest [Tier] that has space for it: the header, the slot
// behind the header, or the arena. Where both sides share memory, a payload may also
// cross by reference, see [Buffer]. [Type] converts the values of a Go type to bytes
// and back. A [Codec] encodes the types that have no encoding of their own. [Arena]
// chooses the position of a payload in the region.
//
// # Waiting
//
// A side that has nothing to do spins for a limited time and then parks on its
// [Doorbell]. The other side rings the doorbell only when it sees a parked waiter. A wait
// ends with an [Event]. Rings without a change end it, too, after a bounded number.
//
// The right to receive can move between the goroutines of a side, so that an answer needs no
// wake-up. A goroutine that waits for it takes the right with [End.Borrow] from the one that is
// parked. A worker that runs a call lends the right with [End.Lend].
//
// # Trust
//
// A side copies a header or a payload before it checks and uses it, and reads each byte
// once for that copy. [Type.Borrow] is the one exception. A header or payload with
// invalid bytes fails the call that it belongs to. A bit that no honest peer would toggle
// is an [ErrViolation]. An end that sees one receives nothing more. Its messages may get no
// answer. Nothing that the other side writes can make this side panic, block it outside a wait, hold a wait beyond its
// deadline, or give one slot to two goroutines.
//
// # What it is not for
//
// The package does not know tasks, pools, or the network. A mailbox has no backlog: a
// sender that finds it full keeps its message. A mailbox carries calls from one side to
// one other side. It does not publish events to many listeners.
package transport
