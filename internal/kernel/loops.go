package kernel

import "math"

// Value is what the loop of the benchmarks adds at index i.
func Value(i int) uint32 { return uint32(i)*2654435761 + 1 }

// Norm is the arithmetic of the map of the benchmarks.
func Norm(x float64) float64 { return math.Sqrt(x*x + 1.5*x + 2) }
