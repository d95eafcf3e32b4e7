package stress

import "slices"

// scenarios returns all scenarios in the order of a round.
func scenarios() []scenario {
	return slices.Concat(programScenarios, spawnerScenarios, endScenarios, callerScenarios, loadScenarios, crowdScenarios, forkScenarios, syncScenarios, laneScenarios, processScenarios, lawScenarios())
}
