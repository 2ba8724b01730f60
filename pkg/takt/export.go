package takt

// Export is what became of the figures that one --export sent to another system during the run: one
// batch a second, and one at the end.
type Export struct {
	To    string `json:"to"`   // KIND=WHERE, without secrets
	Sent  uint64 `json:"sent"` // batches that the receiver accepted
	Lost  uint64 `json:"lost"`
	Error string `json:"error,omitempty"` // newest fault, also if takt sent the batch again
}
