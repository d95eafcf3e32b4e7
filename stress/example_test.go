package stress_test

import (
	"context"
	"fmt"

	"github.com/lanewright/lanewright/stress"
)

// One round of one scenario, as a program embeds the soak.
func ExampleConfig() {
	report, err := stress.Run(context.Background(), stress.Config{
		Seed:   42,
		Rounds: 1,
		Only:   []string{"nested-1000"},
		Short:  true,
	})
	fmt.Println(err, report.Rounds, "round")
	// Output: <nil> 1 round
}

// A report counts what was done and lists the violations.
func ExampleReport() {
	report, err := stress.Run(context.Background(), stress.Config{Rounds: 1, Only: []string{"programs"}, Short: true})
	if err != nil {
		fmt.Println(err)
		for _, v := range report.Violations {
			fmt.Println(v)
		}
	}
	fmt.Println(report.Programs > 0, report.Tasks > 0, len(report.Violations), "violations")
	// Output: true true 0 violations
}

// The report counts the injected faults.
func ExampleFaults() {
	report, _ := stress.Run(context.Background(), stress.Config{Rounds: 1, Only: []string{"spawner-first"}, Short: true})
	fmt.Println(report.Faults.SpawnFailures > 0, report.Faults.SpawnFailures == report.SpawnFailures)
	// Output: true true
}

// Each violation names the command that runs its round again.
func ExampleViolation() {
	v := stress.Violation{Scenario: "programs", Seed: 42, Text: "task 3 ran twice"}
	fmt.Println(v.Replay())
	// Output: lanewright stress -seed 0x2a -only programs -rounds 1
}
