package cluster

// Phases are the driver's own latencies.
func Phases() []string { return []string{"batch", "commit", "ack", "transfer", "pause"} }

// Positions in phases.
const (
	PhaseBatch    = iota // from the writing of a batch to its last acknowledgement
	PhaseCommit          // commit of a transaction
	PhaseAck             // e2e: from due to the acknowledgement
	PhaseTransfer        // from the sender's due instant to the receipt
	PhasePause           // time without records of a partition that its group assigned again
)
