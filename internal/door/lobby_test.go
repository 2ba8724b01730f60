package door

import (
	"fmt"
	"slices"
	"testing"
)

// A new connection is let in at all times, and the oldest of the address that has too many
// goes for it; from many addresses, the oldest of the one that has most.
func TestLobby(t *testing.T) {
	l := &Lobby{Most: 128, MostOfAddress: 32}
	var ended []string
	enter := func(address, name string) *Guest {
		return l.Enter(address, func() { ended = append(ended, name) })
	}
	honest := enter("192.0.2.1", "honest")
	var flood []*Guest
	for i := range 1000 {
		flood = append(flood, enter("198.51.100.9", fmt.Sprint(i)))
	}
	if len(l.waiting) != 1+l.MostOfAddress || len(ended) != 1000-l.MostOfAddress || ended[0] != "0" || slices.Contains(ended, "honest") {
		t.Errorf("%d wait, %d ended, %v first", len(l.waiting), len(ended), ended[0])
	}
	if !l.Leave(flood[0]) || l.Leave(flood[999]) || l.Leave(honest) {
		t.Error("who left early has to hear of it, and nobody else")
	}
	ended = nil
	honest = enter("192.0.2.1", "honest")
	for a := range 10 {
		for i := range l.MostOfAddress {
			enter(fmt.Sprint("flood ", a), fmt.Sprint(a, ".", i))
		}
	}
	if len(l.waiting) != l.Most || slices.Contains(ended, "honest") || l.Leave(honest) {
		t.Errorf("%d wait; %v", len(l.waiting), ended)
	}
	l, ended = &Lobby{Most: 128, MostOfAddress: 32}, nil
	for i := range l.Most + 3 {
		enter(fmt.Sprint(i), fmt.Sprint(i))
	}
	if !slices.Equal(ended, []string{"0", "1", "2"}) {
		t.Errorf("of one from each address %v ended", ended)
	}
}
