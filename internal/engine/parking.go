package engine

// parking is where a pacer waits while every slot is taken. At 50k/s the p99 of the schedule
// lag was 0.16 ms with parking, 1.0 ms with polling.
type parking struct {
	world  World
	parked bool // the pacer waits for freed, or is about to; guarded by flow.mu
	freed  chan struct{}
	quit   chan struct{} // closed at the cut
}

func newParking(w World) parking {
	return parking{world: w, freed: make(chan struct{}, 1), quit: make(chan struct{})}
}

// park waits until a slot is free, and reports false at the cut. The caller has set parked
// under the lock and released the lock.
func (p *parking) park() bool {
	return p.world.Either(p.freed, p.quit) == 0
}

// unpark wakes a pacer that waits for a slot; the caller holds the lock.
func (p *parking) unpark() {
	if p.parked {
		p.parked = false
		signal(p.freed)
	}
}
