//go:build (386 || amd64) && !purego && !race

#include "textflag.h"

// func Pause(n uint32)
TEXT ·Pause(SB), NOSPLIT, $0-4
	MOVL  n+0(FP), CX
	TESTL CX, CX
	JZ    done

round:
	PAUSE
	SUBL $1, CX
	JNZ  round

done:
	RET
