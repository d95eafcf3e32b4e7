package lint_test

import "maps"

// This file excuses the text that is not rewritten yet. Without it, and with
// interim a constant that is false, every rule is strict.

var interim = true

func init() {
	maps.Copy(proseLimits, map[string]proseLimit{
		".": {60, 4},
	})
}
