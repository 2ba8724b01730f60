package verifycmd

import (
	"cmp"

	"github.com/taktload/takt/internal/cli/core"
	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/takt"
)

// served is a side of a duet whose server takt has started.
type served struct {
	*duetSide
	on *visit
}

// Join implements core.Side.
func (s served) Join(p *engine.Plan, known core.Known) {
	s.duetSide.Join(p, known)
	s.on.Join(p, known)
}

// Over implements core.Side.
func (s served) Over(r *takt.Report) {
	s.on.figures(r)
	s.duetSide.Over(r)
}

// visit starts the servers of --git for a round; without --git its elements are nil.
func (p *play) visit() (visits [2]*visit, err error) {
	servers := p.verifyCommand.servers
	for i := 0; servers != nil && i < len(visits); i++ {
		if visits[i], err = servers.sides[i].visit(p.ctx, p.verifyCommand.env.Stderr); err != nil {
			_ = p.leave(visits) // the first error is the cause
			return visits, err
		}
	}
	return visits, nil
}

// leave ends the round of the servers, and returns the error of one that ended by itself.
func (p *play) leave(visits [2]*visit) (err error) {
	for _, v := range visits {
		if v != nil {
			err = cmp.Or(err, v.leave(p.verifyCommand.env.Stderr))
		}
	}
	return err
}
