package kernel

import "math"

// Value returns the value that the loop of the benchmarks adds at index i.
func Value(i int) uint32 { return uint32(i)*2654435761 + 1 }

// Norm returns the value that the map of the benchmarks stores for x.
func Norm(x float64) float64 { return math.Sqrt(x*x + 1.5*x + 2) }
