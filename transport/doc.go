// Package transport carries calls between the two sides of a lane: the host, which
// sends requests, and the worker, which answers them.
//
// # Links and sides
//
// A [Link] joins the two sides. It has two regions of memory, one for each direction.
// The host writes requests into the first region, and the worker writes answers into
// the second. A side only reads the region that the other side writes. Each region
// holds
//
//   - a mailbox of 32 slots,
//   - the words by which the writing side publishes and acknowledges slots,
//   - an arena for payloads that do not fit a slot.
//
// No region contains a pointer, so the same code runs over ordinary memory and over
// memory that two processes share. [Link.Host] and [Link.Worker] return the two ends.
// Both embed [End], which sends, receives and waits:
//
//	slot, ok := host.Claim()              // a free slot, if there is one
//	err := host.Publish(slot, &h, bytes)  // header and payload, visible to the worker
//	n, err := worker.Drain(f)             // f gets each message that is there
//	worker.Wait(false, 0)                 // block until there is a message
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
// Words that one processor writes and another reads lie 256 bytes apart. So no two
// words share a cache line, or a pair of adjacent lines, on any processor. Numbers in
// slots are little-endian; words have the byte order of the machine.
//
//	offset  bytes   content
//	0       256     reserved
//	256     8       side word
//	512     4       doorbell: counts rings in steps of 4; the other side parks on it
//	768     4       parked: 0, or the doorbell of the other region that this side
//	                parks on, and in bits 0 and 1 the events that it waits for: a
//	                message, a free slot
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
// behind the header, the arena, or a reference where both sides share memory. [Type]
// converts the values of a Go type to bytes and back. [Arena] decides where the bytes
// lie. [AbortSet] holds the bits by which the host asks running calls to stop.
//
// # Waiting
//
// A side that has nothing to do spins for a limited time and then parks on its
// [Doorbell]. The other side rings the doorbell only when it sees a parked waiter.
//
// # Trust
//
// A side reads each byte that the other side wrote once, checks it, and copies it
// before use. A header or payload with invalid bytes fails the call that it belongs to.
// A bit that no honest peer would toggle is an [ErrViolation], and the end that sees
// one does nothing more. Nothing that the other side writes can make this side panic,
// block it outside Wait, or give one slot to two goroutines.
//
// # What it is not for
//
// The package does not know tasks, pools, or the network. A mailbox has no backlog: a
// sender that finds it full keeps its message. A mailbox carries calls from one side to
// one other side. It does not publish events to many listeners.
package transport
