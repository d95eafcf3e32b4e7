package transport_test

import (
	"fmt"

	"github.com/lanewright/lanewright/transport"
)

func ExampleArena() {
	a, err := transport.NewArena(1024, 4096, 512)
	if err != nil {
		fmt.Println(err)
		return
	}
	first, _ := a.Alloc(100)
	second, _ := a.Alloc(100)
	a.Free(first)
	third, _ := a.Alloc(60) // in the gap
	fmt.Println(first, second, third, a.InUse())

	_, err = a.Alloc(513)
	fmt.Println(err)
	// Output:
	// 0 128 0 192
	// transport: payload too large
}
