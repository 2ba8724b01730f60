package takt

// Mux speaks the protocol of one connection that carries several operations at once, such as
// HTTP/2. The engine moves the bytes and keeps the time; one thread calls all methods.
//
// Operations have tags: small numbers that the engine chooses. From Begin until its End, Again or
// Cancel an operation's Result belongs to the Mux, which fills in all but the phases.
type Mux interface {
	// Open begins a new connection and forgets the old one.
	Open()
	// Limit is how many operations the connection carries at once at present. It may change with
	// Parse. It is negative if no other operation can begin on this connection.
	Limit() int
	// Begin begins op. There must be room for it.
	Begin(op *Op, tag int, r *Result)
	// Cancel gives up the operation with this tag.
	Cancel(tag int)
	// Out returns bytes to send, until there are none. They stay valid until the next call.
	Out() []byte
	// Sent says that the first n bytes of Out are sent.
	Sent(n int)
	// Parse reads in, which starts where the last call stopped, and returns how many bytes it used,
	// and list with what happened appended. eof: nothing follows in. If the connection is over,
	// alive is false, and every operation has its End or Again.
	Parse(in []byte, eof bool, list []MuxEvent) (n int, _ []MuxEvent, alive bool)
	// Close says good-bye, as far as the protocol has words for it: Out then has them.
	Close()
}

// MuxEvent is what Parse found out about the operation with a tag.
type MuxEvent struct {
	Tag  int
	Kind MuxKind
}

// MuxKind is the kind of a MuxEvent.
type MuxKind uint8

// The values of MuxKind.
const (
	MuxFirst MuxKind = iota // the answer begins
	MuxEnd                  // the operation is over
	MuxAgain                // the target has not begun the operation, which should be begun again
)
