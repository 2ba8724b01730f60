package influx

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/taktload/takt/internal/metrics"
)

// lines are the lines of a batch: takt has the figures of an interval, takt_errors its failures by class,
// and takt_run the totals at the end of the run. Times are in seconds.
func lines(b *metrics.Batch) []byte {
	tags := tagText(b.Run.Info())
	stamp := b.To.UnixNano()
	if b.Over {
		return end(b, tags, stamp)
	}
	l := begin(nil, "takt", tags)
	l.counts(&b.Last)
	for _, h := range b.Last.Latencies() {
		for _, s := range metrics.Stats() {
			l.float(h.Name+"_"+strings.ReplaceAll(s.Name, ".", "_"), h.Quantile(s.Quantile).Seconds())
		}
	}
	l.float("schedule_lag_p99", b.ScheduleLagP99.Seconds())
	l.int("in_flight", int64(b.InFlight))
	if b.Unread != nil {
		l.int("unread", *b.Unread)
	}
	if b.CPU != nil {
		l.float("cpu", b.CPU.Seconds())
	}
	l.bool("warmup", b.Warmup)
	out := l.end(stamp)
	for _, class := range slices.Sorted(maps.Keys(b.Last.Errors)) {
		l := begin(out, "takt_errors", tags+tagText([]metrics.Label{{Name: "class", Value: class}}))
		l.int("count", int64(b.Last.Errors[class]))
		out = l.end(stamp)
	}
	return out
}

func end(b *metrics.Batch, tags string, stamp int64) []byte {
	l := begin(nil, "takt_run", tags)
	l.counts(&b.Total)
	l.int("unfinished", int64(b.Total.Unfinished))
	if b.CPU != nil {
		l.float("cpu", b.CPU.Seconds())
	}
	l.bool("valid", b.Verdict == "valid")
	return l.end(stamp)
}

// line is a line that is being written.
type line struct {
	out    []byte
	fields int
}

// begin begins a line after the text of others.
func begin(out []byte, measurement, tags string) *line {
	return &line{out: append(append(out, measurement...), tags...)}
}

func (l *line) counts(f *metrics.Figures) {
	l.int("scheduled", int64(f.Scheduled))
	l.int("ok", int64(f.OK))
	l.int("failed", int64(f.Failed))
	l.int("dropped", int64(f.Dropped))
	if f.Good != nil {
		l.int("good", int64(*f.Good))
	}
	if f.Bytes != nil {
		l.int("sent_bytes", f.Bytes.Sent)
		l.int("received_bytes", f.Bytes.Received)
	}
}

// field begins a field, whose name needs no escapes.
func (l *line) field(name string) {
	separator := byte(',')
	if l.fields == 0 {
		separator = ' '
	}
	l.fields++
	l.out = append(append(append(l.out, separator), name...), '=')
}

func (l *line) int(name string, n int64) {
	l.field(name)
	l.out = append(strconv.AppendInt(l.out, n, 10), 'i')
}

func (l *line) float(name string, v float64) {
	l.field(name)
	l.out = strconv.AppendFloat(l.out, v, 'f', -1, 64)
}

func (l *line) bool(name string, is bool) {
	l.field(name)
	l.out = strconv.AppendBool(l.out, is)
}

func (l *line) end(stamp int64) []byte {
	return append(strconv.AppendInt(append(l.out, ' '), stamp, 10), '\n')
}

// tagText are tags, each after a comma. InfluxDB accepts no empty tags.
func tagText(labels []metrics.Label) string {
	var b strings.Builder
	for _, l := range labels {
		if name, value := escape(l.Name), escape(l.Value); name != "" && value != "" {
			b.WriteString("," + name + "=" + value)
		}
	}
	return b.String()
}

var escapes = strings.NewReplacer(",", `\,`, "=", `\=`, " ", `\ `)

// escape is the name or value of a tag. The protocol has no escape for control characters, and a backslash
// at the end would escape what follows.
func escape(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return escapes.Replace(strings.TrimRight(text, `\ `))
}
