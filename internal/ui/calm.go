package ui

import (
	"sync"
	"time"
)

// A page of a run in progress costs more the longer the run is, and the run needs the machine. So a page is
// made again only after rest × the time that it took, whatever the number of browsers: the pages of a run
// get 1/11 of a core at most.
const (
	rest      = 10
	mostCalm  = 16          // pages that are kept
	leastCalm = time.Second // a journal has nothing newer
)

// calm keeps the pages of runs in progress.
type calm struct {
	mu  sync.Mutex
	all map[string]*kept
}

// kept is a page that was made.
type kept struct {
	mu    sync.Mutex
	page  served
	until time.Time // until when it is not made again
}

// get returns the page of that name, which make makes if it is time. An error is not kept.
func (c *calm) get(name string, make func() (served, error)) (served, error) {
	k := c.find(name)
	k.mu.Lock() // several browsers wait for one page
	defer k.mu.Unlock()
	begun := time.Now()
	if begun.Before(k.until) {
		return k.page, nil
	}
	page, err := make()
	if err != nil {
		return page, err
	}
	now := time.Now()
	k.page, k.until = page, now.Add(max(leastCalm, rest*now.Sub(begun)))
	return page, nil
}

func (c *calm) find(name string) *kept {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.all[name]; k != nil {
		return k
	}
	if c.all == nil || len(c.all) >= mostCalm {
		c.all = map[string]*kept{}
	}
	k := &kept{}
	c.all[name] = k
	return k
}
