package shell

import (
	"fmt"
	"sync"

	"github.com/taktload/takt/internal/door"
)

// Limits of sessions that have not sent their token yet. A script sends its token within
// a round trip, so only a flood comes near the limits.
const (
	maxGuests          = 128
	maxGuestsOfAddress = 32
)

func newLobby() *door.Lobby {
	return &door.Lobby{Most: maxGuests, MostOfAddress: maxGuestsOfAddress}
}

// Limits of sessions that may run commands.
const (
	maxSessions          = 256
	maxSessionsOfAddress = 64 // only with tokens
)

// seats counts the sessions that may run commands.
type seats struct {
	mu  sync.Mutex
	all int
	of  map[string]int // by address
}

// take occupies a seat, which give frees. Without an address only maxSessions applies.
func (s *seats) take(address string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.all >= maxSessions:
		return fmt.Errorf("there are %d sessions already; try again later", maxSessions)
	case address != "" && s.of[address] >= maxSessionsOfAddress:
		return fmt.Errorf("there are %d sessions from %s already; end some", maxSessionsOfAddress, address)
	}
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.all++
	s.of[address]++
	return nil
}

func (s *seats) give(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[address]--; s.of[address] == 0 {
		delete(s.of, address)
	}
}
