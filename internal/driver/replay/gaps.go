package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/play"
	"github.com/taktload/takt/pkg/schedule"
	"github.com/taktload/takt/pkg/takt"
)

// usualGap is the longest gap in a log that takt waits for without --max-gap. With one wrong date it
// would wait for years.
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

// gaps returns the limit for gaps. Without --max-gap a longer gap is an error.
func (o *Options) gaps() play.Gaps {
	return play.Gaps{Most: cmp.Or(o.MaxGap, usualGap), Refuse: o.MaxGap == 0}
}

// surveyGaps looks for gaps before the run, so that takt does not stop at one after hours. It skips
// pipes, which can be read only once.
func (o *Options) surveyGaps(ctx context.Context) error {
	o.foundGaps = play.Gaps{}
	if !o.engine.Recorded || o.Seed.Tail || !o.canReadAgain() {
		return nil
	}
	p, err := o.openLogs(ctx)
	if err != nil {
		return err
	}
	defer p.closeLogs()
	src := play.NewSource(p.src, o.Speed)
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
		info, err := files.Stat(name)
		return name == "-" || err != nil || !info.Mode().IsRegular()
	})
}

// readThrough reads all operations of the run from src.
func (o *Options) readThrough(ctx context.Context, src *play.Source) error {
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

// gapError is the error for logs with gaps.
func (o *Options) gapError() error {
	return fmt.Errorf("%s; nothing would be sent meanwhile: give --max-gap 10s to make each 10 s long, a longer --max-gap to wait%s, or correct the dates", longer(o.foundGaps), window(o.foundGaps.Longest))
}

// window proposes the longest part of the log.
func window(part trace.Gap) string {
	if part.Length < time.Second {
		return ""
	}
	return fmt.Sprintf(", %s for the longest part without such a gap (%s)", trace.WindowFlag(part.From.At, part.To.At), trace.Span(part.Length))
}

// shortened says that gaps were shortened.
func shortened(g play.Gaps) string { return longer(g) + "; each is shortened to that" }

// shortened is the number of gaps that the replay shortened.
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

// longer lists gaps above the limit.
func longer(g play.Gaps) string {
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
