package soak

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lanewright/lanewright/cmd/lanewright/internal/cli"
	"github.com/lanewright/lanewright/stress"
)

// call runs the command in this process.
func call(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	table := cli.Table{{Name: "stress", Help: Help, Run: Run}}
	code = table.Main(t.Context(), args, &out, &err)
	return code, out.String(), err.String()
}

// TestStressList checks that -list prints the scenarios, those of -only if it is given.
func TestStressList(t *testing.T) {
	code, stdout, stderr := call(t, "stress", "-list")
	if want := strings.Join(stress.Scenarios(), "\n") + "\n"; code != cli.ExitOK || stderr != "" || stdout != want {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
	code, stdout, stderr = call(t, "stress", "-list", "-only", "wake-all, programs,wake-all")
	if code != cli.ExitOK || stderr != "" || stdout != "wake-all\nprograms\n" {
		t.Errorf("exit code %d, stderr %q, stdout\n%s", code, stderr, stdout)
	}
}

// TestStress checks that the printed seed repeats a run of some scenarios.
func TestStress(t *testing.T) {
	args := []string{"stress", "-rounds", "2", "-short", "-only", "programs,spawner-faults,close-at-every-step"}
	code, first, stderr := call(t, args...)
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit code %d, stderr %q, stdout\n%s", code, stderr, first)
	}
	m := regexp.MustCompile(`seed (0x[0-9a-f]+), scenarios: 3\n`).FindStringSubmatch(first)
	if m == nil {
		t.Fatalf("no seed is printed:\n%s", first)
	}
	code, second, stderr := call(t, append(args, "-seed", m[1])...)
	if code != cli.ExitOK || stderr != "" {
		t.Fatalf("exit code %d, stderr %q, stdout\n%s", code, stderr, second)
	}
	// The rows that depend on the seed only are equal.
	for _, row := range []string{"seed", "rounds", "scenarios", "programs", "violations"} {
		re := regexp.MustCompile(`(?m)^ +` + row + `  +(\S+)$`)
		a, b := re.FindStringSubmatch(first), re.FindStringSubmatch(second)
		if a == nil || b == nil || a[1] != b[1] {
			t.Errorf("%s: %q, then %q", row, a, b)
		}
	}
	if !regexp.MustCompile(`(?m)^ +rounds  +2$`).MatchString(first) || !regexp.MustCompile(`(?m)^ +violations  +0$`).MatchString(first) {
		t.Errorf("the report does not show 2 rounds without a violation:\n%s", first)
	}
}

// TestStressOptions checks the defaults of the flags that limit a run.
func TestStressOptions(t *testing.T) {
	names := []string{"a", "b"}
	for _, tc := range []struct {
		args []string
		want stress.Config
	}{
		{[]string{"-seed", "7"}, stress.Config{Seed: 7, Duration: time.Minute}},
		{[]string{"-seed", "0x10", "-duration", "0"}, stress.Config{Seed: 16}},
		{[]string{"-seed", "0", "-rounds", "3", "-fixed-seed"}, stress.Config{Rounds: 3, FixedSeed: true}},
		{[]string{"-seed", "0", "-rounds", "3", "-duration", "2s"}, stress.Config{Rounds: 3, Duration: 2 * time.Second}},
		{[]string{"-seed", "0", "-duration", "1h", "-only", "b, a,b"}, stress.Config{Duration: time.Hour, Only: []string{"b", "a"}}},
	} {
		o, err := parse(tc.args, names)
		got, want := o.Config, tc.want
		if err != nil || got.Seed != want.Seed || got.Duration != want.Duration || got.Rounds != want.Rounds || got.FixedSeed != want.FixedSeed ||
			!slices.Equal(got.Only, want.Only) || got.HangTimeout != stress.DefaultHangTimeout {
			t.Errorf("%v: %v, %+v, want %+v", tc.args, err, got, want)
		}
	}
	first, _ := parse(nil, names)
	second, _ := parse(nil, names)
	if first.Config.Seed == second.Config.Seed {
		t.Errorf("two runs have the same seed %#x", first.Config.Seed)
	}
}

// TestStressViolation checks the output and the exit code of a scenario that counts as hung.
func TestStressViolation(t *testing.T) {
	code, stdout, stderr := call(t, "stress", "-seed", "3", "-only", "nested-1000", "-hang-timeout", "1ns")
	if code != cli.ExitFailed || stderr != "" {
		t.Errorf("exit code %d, stderr %q, want code %d", code, stderr, cli.ExitFailed)
	}
	for _, want := range []string{
		"violation in nested-1000:\nhung: not finished after 1ns\n",
		"\nreplay with: lanewright stress -seed 0x3 -only nested-1000 -rounds 1\n",
		"but not the interleaving",
		"lanewright stress -seed 0x3 -only nested-1000 -fixed-seed -rounds 1000\n",
	} {
		if strings.Count(stdout, want) != 1 {
			t.Errorf("the output does not say once %q:\n%s", want, stdout)
		}
	}
	if !regexp.MustCompile(`(?m)^ +violations  +1$`).MatchString(stdout) {
		t.Errorf("no report, or one without a violation:\n%s", stdout)
	}
}
