package remote

// HostUse is what a pool of idle worker processes takes of a host.
type HostUse struct {
	Threads      int     `json:"threads"`      // that the pool has added
	BytesPerLane float64 `json:"bytesPerLane"` // of resident memory that the pool has added

	Unsupported bool `json:"unsupported,omitempty"` // the system does not show them
}
