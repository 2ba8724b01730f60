package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// usualGap is the longest gap in a log that takt waits for unasked: one wrong date would
// make it wait for years.
const usualGap = time.Hour

// maxGap is the flag --max-gap.
type maxGap time.Duration

// String implements flag.Value.
func (g *maxGap) String() string {
	if *g == 0 {
		return ""
	}
	return time.Duration(*g).String()
}

// Set implements flag.Value.
func (g *maxGap) Set(text string) error {
	err := (*schedule.DurationValue)(g).Set(text)
	if err == nil && *g == 0 {
		return errors.New("a gap of 0 would send the whole log at once; give a time above 0, such as 10s")
	}
	return err
}

// gaps are the bounds of the gaps in the logs: without --max-gap a longer one is refused.
func (o *Options) gaps() trace.Gaps {
	return trace.Gaps{Most: cmp.Or(o.MaxGap, usualGap), Refuse: o.MaxGap == 0}
}

// surveyGaps reads the logs to the end of the run, before it: a gap should not show after
// hours. Pipes can be read once only.
func (o *Options) surveyGaps(ctx context.Context) error {
	o.foundGaps = trace.Gaps{}
	if !o.engine.Recorded || o.Seed.Tail || !o.canReadAgain() {
		return nil
	}
	p, err := o.openLogs(ctx)
	if err != nil {
		return err
	}
	defer p.closeLogs()
	src := trace.NewSource(p.src, o.Speed)
	src.Gaps = o.gaps()
	src.Gaps.Refuse = false
	if err := o.readThrough(ctx, src); err != nil {
		return err
	}
	o.foundGaps = src.Gaps
	if o.foundGaps.Count > 0 && o.MaxGap == 0 {
		return o.gapError()
	}
	if o.foundGaps.Count > 0 && o.onlook.show != nil {
		o.onlook.show("takt: " + shortened(o.foundGaps) + "\n")
	}
	return nil
}

// canReadAgain reports whether all logs are files.
func (o *Options) canReadAgain() bool {
	return !slices.ContainsFunc(o.logs, func(name string) bool {
		info, err := os.Stat(name)
		return name == "-" || err != nil || !info.Mode().IsRegular()
	})
}

// readThrough takes the operations of the run from src.
func (o *Options) readThrough(ctx context.Context, src *trace.Source) error {
	e := o.engine
	var op takt.Op
	for n, measured := 0, uint64(0); src.Next(&op); n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if op.Due >= e.Warmup {
			measured++
		}
		if e.Duration > 0 && op.Due >= e.Warmup+e.Duration || e.Requests > 0 && measured >= e.Requests {
			break
		}
	}
	if err := src.Err(); err != nil && err != io.EOF {
		return err
	}
	return nil
}

// gapError is why a log is not replayed.
func (o *Options) gapError() error {
	return fmt.Errorf("%s; nothing would be sent meanwhile: give --max-gap 10s to make each 10 s long, a longer --max-gap to wait, or correct the dates", longer(o.foundGaps))
}

// shortened says what became of gaps.
func shortened(g trace.Gaps) string { return longer(g) + "; each becomes as short as that" }

// shortened is how many gaps became shorter.
func (r *run) shortened() uint64 {
	if r.gaps == nil || r.gaps.Refuse {
		return 0
	}
	return r.gaps.Count
}

func (r *run) gapsText() string {
	if r.shortened() == 0 {
		return ""
	}
	return shortened(*r.gaps)
}

// longer names gaps that are too long.
func longer(g trace.Gaps) string {
	var list []string
	for _, gap := range g.Found {
		list = append(list, gap.String())
	}
	if g.Count > uint64(len(list)) {
		list = append(list, "…")
	}
	what := fmt.Sprintf("%d gaps in the log are", g.Count)
	if g.Count == 1 {
		what = "1 gap in the log is"
	}
	return fmt.Sprintf("%s longer than %s: %s", what, trace.Span(g.Most), strings.Join(list, "; "))
}
