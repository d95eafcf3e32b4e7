//go:build !purego && !race

#include "textflag.h"

// func Pause(n uint32)
TEXT ·Pause(SB), NOSPLIT, $0-4
	MOVWU n+0(FP), R0
	CBZ   R0, done

round:
	// ISB drains the pipeline of the spinning thread, which leaves the core to the
	// thread that shares it. The Go runtime spins with ISB as well.
	ISB  $15
	SUBW $1, R0
	CBNZ R0, round

done:
	RET
