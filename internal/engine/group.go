package engine

import "sync"

// group waits for the goroutines of a mode, like a sync.WaitGroup. It waits through its
// World, so a simulator can wait, too.
type group struct {
	world World
	mu    sync.Mutex
	n     int
	gone  chan struct{} // closed when all goroutines ended; nil: nobody waits
}

// Go runs f in a new goroutine.
func (g *group) Go(f func()) {
	g.mu.Lock()
	g.n++
	g.mu.Unlock()
	g.world.Go(func() {
		defer g.ended()
		f()
	})
}

func (g *group) ended() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.n--; g.n == 0 && g.gone != nil {
		close(g.gone)
		g.gone = nil
	}
}

// leave waits for the goroutines, at most for handGrace.
func (g *group) leave() {
	g.mu.Lock()
	left, gone := g.n, make(chan struct{})
	g.gone = gone
	g.mu.Unlock()
	if left > 0 {
		g.world.Either(gone, g.world.After(handGrace))
	}
}
