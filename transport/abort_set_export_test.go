package transport

// FillAbortSet acquires all ids of the first words of a new set.
func FillAbortSet(s *AbortSet, words int) {
	for w := range words {
		s.used[w].Store(^uint32(0))
	}
}
