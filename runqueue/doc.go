// Package runqueue holds the queues that a worker runs tasks from.
package runqueue
