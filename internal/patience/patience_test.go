package patience

import (
	"testing"
	"time"
)

// TestLimit: without the variable the limit is a minute, and a value that is no duration above 0 panics.
func TestLimit(t *testing.T) {
	for _, tc := range []struct {
		value string
		want  time.Duration // 0: a panic
	}{
		{"", time.Minute},
		{"15s", 15 * time.Second},
		{"0s", 0},
		{"-1s", 0},
		{"soon", 0},
	} {
		func() {
			defer func() {
				if p := recover(); (p != nil) != (tc.want == 0) {
					t.Errorf("%q: panic %v", tc.value, p)
				}
			}()
			if got := limit(tc.value); got != tc.want {
				t.Errorf("%q: the limit is %v, want %v", tc.value, got, tc.want)
			}
		}()
	}
}
