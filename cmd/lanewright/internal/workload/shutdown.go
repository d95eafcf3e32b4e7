package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/lanewright/lanewright/sched"
)

// Shutdown shuts s down and waits up to 30 s for its workers.
func Shutdown(s *sched.Scheduler) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Second,
		fmt.Errorf("the scheduler did not shut down within 30 s: %+v", s.Stats()))
	defer cancel()
	return s.Shutdown(ctx)
}
