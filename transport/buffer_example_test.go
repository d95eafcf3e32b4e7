package transport_test

import (
	"fmt"

	"github.com/lanewright/lanewright/transport"
)

func ExampleBuffer() {
	b := transport.NewBuffer(5)
	copy(b.Bytes(), "hello")
	moved := transport.Move(b) // crosses the lane; b has ended

	func() {
		defer func() { fmt.Println(recover()) }()
		b.Bytes()
	}()
	fmt.Printf("%s\n", moved.Take().Bytes())
	// Output:
	// transport: Buffer.Bytes: the buffer was moved
	// hello
}

func ExampleMoved() {
	m := transport.Move(transport.NewBuffer(1 << 20))
	mine := m.Take()
	fmt.Println(len(mine.Bytes()))
	// Output: 1048576
}

func ExampleShared() {
	b := transport.NewBuffer(3)
	copy(b.Bytes(), "abc")
	s := transport.Share(b)
	for range 2 { // any number of readers
		fmt.Printf("%s ", s.Bytes())
	}
	fmt.Println()
	// Output: abc abc
}
