package engine

import "sync"

// group waits for the goroutines of a mode when it ends, like a sync.WaitGroup. It waits by its
// world, so a simulator can wait for them, too.
type group struct {
	world World
	mu    sync.Mutex
	n     int
	gone  chan struct{} // closed when none is left; nil: nobody waits for that
}

// Go runs f beside the caller.
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

// leave waits for the goroutines, but not for ever.
func (g *group) leave() {
	g.mu.Lock()
	left, gone := g.n, make(chan struct{})
	g.gone = gone
	g.mu.Unlock()
	if left > 0 {
		g.world.Either(gone, g.world.After(handGrace))
	}
}
