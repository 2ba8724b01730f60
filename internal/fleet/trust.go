package fleet

import (
	"context"
	"fmt"
	"net"

	"github.com/taktload/takt/internal/door"
)

// MakeToken says how to make a token.
const MakeToken = "give the gatherer and its shards the same token, as with: export TAKT_FLEET_TOKEN=$(openssl rand -hex 32)"

// mistrust says why a fleet without a token does not talk to a process; "": it does. The gatherer sends
// words with secrets, and a member does what it is told, so both must be of one user, or of root.
func mistrust(who door.Peer) string {
	switch who {
	case door.PeerSelf:
		return ""
	case door.PeerStranger:
		return "it belongs to another user of this machine, or to a container, and the fleet has no token; " + MakeToken
	}
	return "takt cannot find out which user it belongs to, and the fleet has no token; " + MakeToken
}

// StrangerError says that the process at the gatherer's address may not tell this one what to do.
type StrangerError struct{ Address, Reason string }

// Permanent says so to package permanent: the process is there to stay.
func (e *StrangerError) Permanent() bool { return true }

// Error implements error.
func (e *StrangerError) Error() string {
	return fmt.Sprintf("this shard said nothing to the process that listens at %s: %s", e.Address, e.Reason)
}

// trust checks who accepted a connection, before anything is sent.
func (j *Join) trust(ctx context.Context, raw net.Conn) error {
	ask := j.Peer
	if ask == nil {
		ask = door.ServerOf
	}
	who, err := ask(ctx, raw)
	if err != nil {
		return fmt.Errorf("no process has accepted the connection: %w", err)
	}
	if why := mistrust(who); why != "" {
		return &StrangerError{j.Address, why}
	}
	return nil
}
