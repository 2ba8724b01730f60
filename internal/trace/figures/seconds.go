package figures

import (
	"bufio"
	"cmp"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/pkg/hist"
)

// secondsHead names the columns: the eight of perf2seconds, then three of takt.
const secondsHead = "#date time latency xfertime sleeptime bytes requests errors offered p50 p99\n"

var errNoSeconds = errors.New("the log has no times, so it has no seconds")

// SecondsCounts adds up the rows of Seconds.
type SecondsCounts struct {
	Rows, Requests uint64
	Errors         uint64 // requests without a 2xx or 3xx
	NotFound       uint64 // errors that are a 404
}

// Seconds writes a row for each second in which a request started: means of latency
// and xfertime in seconds, sleeptime 0, mean of bytes, number of requests and of
// errors, mean of the offered rate (0: unknown), p50 and p99 of latency + xfertime
// in seconds. Every column includes failed requests. A time of no values is "-", another mean
// of no values is 0. The stream must be in order, as after trace.Timed.
func Seconds(dst io.Writer, src trace.Stream) (SecondsCounts, error) {
	out := bufio.NewWriterSize(dst, 64<<10)
	_, _ = out.WriteString(secondsHead) // Flush returns an error
	s := secondRow{h: hist.New()}
	var c SecondsCounts
	var line []byte
	err := bySecond(src, func(r *trace.Record) error {
		if r.At.IsZero() {
			return errNoSeconds
		}
		if r.Status == 404 {
			c.NotFound++
		}
		s.add(r)
		return nil
	}, func(second time.Time) {
		line = s.append(line[:0], second)
		_, _ = out.Write(line)
		c.Rows++
		c.Requests += s.requests
		c.Errors += s.errors
		s.reset()
	})
	return c, cmp.Or(err, out.Flush())
}

// bySecond calls add for every record, and end after the last record of each second that has
// any. Records without a time are of no second.
func bySecond(src trace.Stream, add func(r *trace.Record) error, end func(second time.Time)) error {
	var second time.Time
	err := trace.Each(src, func(r *trace.Record) error {
		if at := r.At.Truncate(time.Second); at.After(second) {
			if !second.IsZero() {
				end(second)
			}
			second = at
		}
		return add(r)
	})
	if !second.IsZero() {
		end(second)
	}
	return err
}

// secondRow sums up one second.
type secondRow struct {
	requests, errors        uint64
	latency, transfer, size mean
	offered                 mean
	h                       *hist.Histogram
}

// mean is the mean of the known values.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(x float64) { m.sum, m.n = m.sum+x, m.n+1 }

func (m *mean) value() float64 {
	if m.n == 0 {
		return 0
	}
	return m.sum / float64(m.n)
}

func (s *secondRow) reset() {
	h := s.h
	h.Reset()
	*s = secondRow{h: h}
}

// isError reports whether the request has no answer, or one other than 2xx and 3xx.
func isError(r *trace.Record) bool { return r.Status < 200 || r.Status > 399 }

func (s *secondRow) add(r *trace.Record) {
	s.requests++
	if isError(r) {
		s.errors++
	}
	if r.Latency != trace.Unknown {
		s.h.Record(r.Latency)
		s.latency.add((r.Latency - max(r.Transfer, 0)).Seconds())
	}
	if r.Transfer != trace.Unknown {
		s.transfer.add(r.Transfer.Seconds())
	}
	if r.Bytes != trace.Unknown {
		s.size.add(float64(r.Bytes))
	}
	if r.Offered > 0 {
		s.offered.add(r.Offered)
	}
}

func (s *secondRow) append(dst []byte, second time.Time) []byte {
	dst = second.AppendFormat(dst, "2006-01-02 15:04:05 ")
	dst = appendSeconds(dst, s.latency.value(), s.latency.n)
	dst = appendSeconds(append(dst, ' '), s.transfer.value(), max(s.latency.n, s.transfer.n))
	dst = append(dst, " 0 "...)
	dst = strconv.AppendFloat(dst, s.size.value(), 'f', 0, 64)
	dst = strconv.AppendUint(append(dst, ' '), s.requests, 10)
	dst = strconv.AppendUint(append(dst, ' '), s.errors, 10)
	dst = strconv.AppendFloat(append(dst, ' '), math.Round(s.offered.value()*1e3)/1e3, 'f', -1, 64)
	for _, q := range []float64{0.5, 0.99} {
		dst = appendSeconds(append(dst, ' '), s.h.Quantile(q).Seconds(), int(s.h.Count()))
	}
	return append(dst, '\n')
}

// noTime stands for a time that no request of the second has.
const noTime = "-"

// appendSeconds writes a time of n requests.
func appendSeconds(dst []byte, seconds float64, n int) []byte {
	if n == 0 {
		return append(dst, noTime...)
	}
	return strconv.AppendFloat(dst, seconds, 'f', 6, 64)
}
