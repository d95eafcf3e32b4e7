// Package transport carries calls between the two sides of a lane.
//
// A [Link] is two regions of memory with one writing side each: the host writes
// requests into the one, the worker writes answers into the other. Each holds a
// mailbox of 32 slots, the words by which its side says what is in them, and an
// arena for payloads that do not fit a slot. The same code runs over ordinary
// memory and over memory that two processes share: nothing in a region is a
// pointer, and each side only ever reads what the other side writes.
//
// # Mailboxes
//
// A slot is busy while one bit of its sender differs from one bit of its receiver.
// To send is to claim a free slot, to write to it, and to turn the one bit over; to
// receive is to read it and to turn over the other. [Sender] and [Receiver] are
// these two ends, for slots of any kind; the bits of a side are halves of one word,
// [Side]:
//
//	bits 0..31   publish bit of each slot of the mailbox that this side sends in
//	bits 32..63  acknowledge bit of each slot of the mailbox that it receives in
//
// Bits have no order. Each claim has a ticket, which travels with the slot, and
// [InOrder] sorts by it.
//
// # Regions
//
// Words that one processor writes and another reads lie 256 bytes apart, so that no
// two share a cache line, nor a pair of lines, on any processor. Numbers in slots are
// little-endian; words are as the machine has them.
//
//	offset  bytes   what
//	0       256     reserved
//	256     8       side word
//	512     4       doorbell: counts rings in steps of 4; the other side parks on it
//	768     4       parked: 0, or the doorbell of the other region that this side
//	                parks on, and in bits 0 and 1 what it waits for: a message, a
//	                free slot
//	1024    4       1 + the processor that this side waits on; 0: not known
//	1280    4       closed: not 0 when this side has ended
//	1536    256     reserved
//	1792    18,432  32 slots of 576 bytes: a header of 64, see [Header], and 512
//	                for a payload
//	20,224  64..    requests: abort bits, 32 a word, in lines of 64 bytes
//	        4,096   answers: 1024 words, the generation of each call that has started
//	...             payloads, in blocks of 64 bytes
//
// # Payloads
//
// Values cross by the cheapest way that has room, see [Tier]: in the header, in the
// slot, in the arena, or by reference where both sides share memory. [Type] says how
// the values of a Go type become bytes, [Arena] where they lie.
//
// # Waiting
//
// A side that has nothing to do spins for a while and then parks on its [Doorbell].
// The other side rings only if it sees it parked.
//
// # Trust
//
// Whatever the other side wrote is read once, checked, and copied before use. Bytes
// of a header or payload that make no sense fail the call that they belong to; bits
// that no honest peer would toggle are [ErrViolation], after which an end does
// nothing more. Nothing that the other side writes can make this side panic, wait
// inside anything but Wait, or give one slot to two goroutines.
//
// # What it is not for
//
// The package knows nothing of tasks, pools, or the network. A mailbox has no
// backlog: who finds it full keeps what it has. It carries calls; to tell many
// listeners something, use something else.
package transport
