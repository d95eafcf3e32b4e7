package patience

import (
	"fmt"
	"os"
	"time"
)

// Variable is the environment variable that holds another limit, as time.ParseDuration reads it.
const Variable = "LANEWRIGHT_PATIENCE"

// Limit is how long a test waits: a minute unless [Variable] is set.
var Limit = limit(os.Getenv(Variable))

// limit returns the limit that s, the value of the variable, says.
func limit(s string) time.Duration {
	if s == "" {
		return time.Minute
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		panic(fmt.Sprintf("patience: %s=%q: want a duration above 0", Variable, s))
	}
	return d
}
