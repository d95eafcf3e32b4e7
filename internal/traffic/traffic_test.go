package traffic_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lanewright/lanewright/internal/traffic"
)

const short, long = time.Millisecond, 200 * time.Millisecond

// TestOrders checks the number of calls of each order and where its long calls are.
func TestOrders(t *testing.T) {
	first := [][]int{{3, 7, 11}, {40, 81, 122}, {400, 401, 402}}
	last := []int{39, 409, 409}
	orders := traffic.Orders(short, long)
	if len(orders) != len(first) {
		t.Fatalf("%d orders, want %d", len(orders), len(first))
	}
	for k, calls := range orders {
		var at []int
		for i, d := range calls {
			switch d {
			case long:
				at = append(at, i)
			case short:
			default:
				t.Errorf("order %d: call %d takes %v", k, i, d)
			}
		}
		if len(calls) != traffic.MixedCalls || len(at) != traffic.LongCalls {
			t.Fatalf("order %d: %d calls, %d of them long", k, len(calls), len(at))
		}
		if !slices.Equal(at[:3], first[k]) || at[len(at)-1] != last[k] {
			t.Errorf("order %d: long calls at %v", k, at)
		}
	}
}

// TestShares checks that shares hold each call once, and that four workers have equal shares
// of 0.6 s.
func TestShares(t *testing.T) {
	for k, calls := range traffic.Orders(short, long) {
		shares := traffic.Shares(calls, traffic.MixedWorkers)
		for i, share := range shares {
			var sum time.Duration
			for _, d := range share {
				sum += d
			}
			if sum != 600*time.Millisecond {
				t.Errorf("order %d: share %d takes %v, want 600 ms", k, i, sum)
			}
		}
		all := slices.Concat(shares...)
		slices.Sort(all)
		if want := slices.Sorted(slices.Values(calls)); !slices.Equal(all, want) {
			t.Errorf("order %d: the shares hold other calls", k)
		}
	}
}

// TestClients checks the latencies and refusals of a server that runs one call of 20 ms at a
// time and has no queue: the clients whose calls it refuses try again every 5 ms.
func TestClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var busy atomic.Bool
		ns := make([]int64, 10)
		c := traffic.Clients{Number: 3, Retry: 5 * time.Millisecond}
		refused, err := c.Run(t.Context(), ns, func(int) (bool, error) {
			if !busy.CompareAndSwap(false, true) {
				return false, nil
			}
			time.Sleep(20 * time.Millisecond)
			busy.Store(false)
			return true, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range ns {
			if got != int64(20*time.Millisecond) {
				t.Errorf("latency %d = %v, want 20 ms", i, time.Duration(got))
			}
		}
		// Two clients are refused four times in each of the ten calls. One more refusal is
		// possible at the end of each call.
		if refused < 70 || refused > 100 {
			t.Errorf("%d refusals, want about 80", refused)
		}
	})
}

// TestClientsFail checks that an error of a call ends all clients.
func TestClientsFail(t *testing.T) {
	boom := errors.New("boom")
	c := traffic.Clients{Number: 3}
	_, err := c.Run(t.Context(), make([]int64, 10), func(client int) (bool, error) {
		if client == 1 {
			return false, boom
		}
		return false, nil
	})
	if !errors.Is(err, boom) {
		t.Errorf("error = %v, want %v", err, boom)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(boom)
	if _, err := c.Run(ctx, make([]int64, 1), func(int) (bool, error) { return true, nil }); !errors.Is(err, boom) {
		t.Errorf("error = %v, want %v", err, boom)
	}
}
