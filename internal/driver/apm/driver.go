package apm

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/pkg/hist"
	"github.com/taktload/takt/pkg/takt"
)

// driver is a Loop for one server, and Workers for several servers or for streams.
func (o *Options) driver(p *plan) *takt.Driver {
	if len(p.servers) == 1 && !o.Stream {
		return &takt.Driver{Loop: o.loopTo(p, 0)}
	}
	f := &fleet{plan: p}
	d := &takt.Driver{Phases: engine.NetPhases, Probe: f.probe, Worker: f.worker}
	for i := range p.servers {
		l := o.loopTo(p, i)
		probe, worker := engine.Blocking(l)
		if o.Stream {
			s := &streams{loop: l, plan: p, server: i, length: o.conn.Timeout, pause: o.Pause, until: o.until}
			probe, worker, d.Phases = s.probe, s.worker, streamPhases()
		}
		f.probes, f.makers = append(f.probes, probe), append(f.makers, worker)
	}
	return d
}

func (o *Options) loopTo(p *plan, server int) *takt.Loop {
	return o.conn.LoopTo(p.servers[server].url, func(int) takt.Codec { return newCodec(p, server) })
}

// fleet loads servers in turn. Each worker has one connection to each server.
type fleet struct {
	plan   *plan
	probes []func(context.Context) error
	makers []func(int) (takt.Worker, error)
}

func (f *fleet) probe(ctx context.Context) error {
	var faults []error
	for i, probe := range f.probes {
		if err := probe(ctx); err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", f.plan.servers[i].url.Host, err))
		}
	}
	return errors.Join(faults...)
}

func (f *fleet) worker(i int) (takt.Worker, error) {
	w := &fleetWorker{plan: f.plan}
	for _, newWorker := range f.makers {
		one, err := newWorker(i)
		if err != nil {
			_ = w.Close() // the error is returned
			return nil, err
		}
		w.all = append(w.all, one)
	}
	return w, nil
}

type fleetWorker struct {
	plan *plan
	all  []takt.Worker
}

// Do implements takt.Worker. The operation's number selects the server, whichever worker
// performs the operation.
func (w *fleetWorker) Do(ctx context.Context, op *takt.Op, r *takt.Result) {
	i := int(op.Seq % uint64(len(w.all)))
	begun := time.Now()
	w.all[i].Do(ctx, op, r)
	if op.Due >= w.plan.warmup {
		w.plan.servers[i].service.record(time.Since(begun), r.Class != "")
	}
}

// Close implements takt.Worker.
func (w *fleetWorker) Close() error {
	var faults []error
	for _, one := range w.all {
		faults = append(faults, one.Close())
	}
	return errors.Join(faults...)
}

// serviceTime is the service time of one of several servers.
type serviceTime struct {
	mu     sync.Mutex
	h      *hist.Histogram // nil: no measurement
	failed uint64
}

func (s *serviceTime) record(d time.Duration, failed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h == nil {
		s.h = hist.New()
	}
	s.h.Record(d)
	if failed {
		s.failed++
	}
}
