//go:build !purego && !race

#include "textflag.h"

// func Pause(n uint32)
TEXT ·Pause(SB), NOSPLIT, $0-4
	MOVWU n+0(FP), R0
	CBZ   R0, done

round:
	// ISB drains the pipeline, which is what a spinning thread should do to its
	// neighbour on the core. The Go runtime spins with it too.
	ISB  $15
	SUBW $1, R0
	CBNZ R0, round

done:
	RET
