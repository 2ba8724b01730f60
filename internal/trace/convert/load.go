package convert

import (
	"bytes"
	"errors"
	"strconv"
	"time"

	"github.com/taktload/takt/internal/trace"
	"github.com/taktload/takt/internal/trace/parse"
)

// LoadHead is the first line of a load file of results.
const LoadHead = "#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op expected\n"

// LoadInputHead is the first line of a load file made from another log: the tenth column has
// the bodies.
const LoadInputHead = "#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op body\n"

// maxBody limits a body in a row: the row must not become longer than trace.MaxLine.
const maxBody = trace.MaxLine / 2

var errBody = errors.New("the body has line ends or more than 128 KiB, which a row of the load format cannot hold")

// AppendLoadStep appends the comment that begins a step of a ramp. rate is in requests per second.
func AppendLoadStep(dst []byte, rate float64) []byte {
	return append(strconv.AppendFloat(append(dst, "#request/second = "...), rate, 'f', -1, 64), '\n')
}

// AppendLoadRow appends the row of a result, in the zone of r.At: the columns of LoadHead, and
// expectedRC=NNN if r.Status was not the expected one. An unknown time is 0 without decimals.
func AppendLoadRow(dst []byte, r *trace.Record) []byte {
	dst = append(appendColumns(dst, r, r.Bytes), ' ')
	dst = strconv.AppendFloat(dst, r.Offered, 'f', -1, 64)
	return append(appendExpected(dst, r), '\n')
}

// appendExpected appends the expected status, if the answer had another one.
func appendExpected(dst []byte, r *trace.Record) []byte {
	if r.Expected == 0 || r.Expected == r.Status {
		return dst
	}
	return strconv.AppendInt(append(dst, "  expectedRC="...), int64(r.Expected), 10)
}

// AppendLoadInput appends the row of a logged request. The size is the answer's for a GET or
// HEAD, otherwise the request's. The tenth column is the offered rate of a GET or HEAD if it
// is known, otherwise the body.
func AppendLoadInput(dst []byte, r *trace.Record) ([]byte, error) {
	if bytes.ContainsAny(r.Body, "\r\n") || len(r.Body) > maxBody {
		return dst, errBody
	}
	n := r.Bytes
	if !parse.IsReading(r.Method) {
		n = r.RequestBytes
	}
	dst = appendColumns(dst, r, n)
	switch {
	case parse.IsReading(r.Method) && r.Offered > 0:
		dst = strconv.AppendFloat(append(dst, ' '), r.Offered, 'f', -1, 64)
	case len(r.Body) > 0:
		dst = appendWord(append(dst, ' '), r.Body)
	}
	return append(appendExpected(dst, r), '\n'), nil
}

// appendColumns appends the first nine columns.
func appendColumns(dst []byte, r *trace.Record, size int64) []byte {
	dst = append(appendTime(dst, r), ' ')
	if r.Latency == trace.Unknown {
		dst = append(dst, '0')
	} else {
		dst = appendMicros(dst, r.Latency-max(r.Transfer, 0))
	}
	dst = append(dst, ' ')
	if r.Transfer == trace.Unknown {
		dst = append(dst, '0')
	} else {
		dst = appendMicros(dst, r.Transfer)
	}
	dst = append(dst, " 0 "...)
	dst = strconv.AppendInt(dst, max(size, 0), 10)
	dst = append(dst, ' ')
	dst = appendWord(dst, bare(r.URI))
	dst = append(dst, ' ')
	dst = strconv.AppendInt(dst, int64(r.Status), 10)
	dst = append(dst, ' ')
	return append(dst, r.Method...)
}

// appendTime appends when the request started, without a fraction if the log has none, or
// "- -" if the log has no times. An end known only to the second counts as the middle of
// that second: otherwise even a latency of 2 ms would move the start to the second before.
func appendTime(dst []byte, r *trace.Record) []byte {
	switch {
	case r.At.IsZero():
		return append(dst, "- -"...)
	case r.Second && r.Ended && r.Latency > 0:
		return r.Start().Add(time.Second/2).AppendFormat(dst, "2006-01-02 15:04:05")
	case r.Second:
		return r.At.AppendFormat(dst, "2006-01-02 15:04:05")
	}
	return r.Start().AppendFormat(dst, "2006-01-02 15:04:05.000")
}

// bare removes the first slash, which the predecessor's paths do not have, unless the path
// would then have another meaning.
func bare(uri []byte) []byte {
	if len(uri) < 2 || uri[0] != '/' || uri[1] == '/' || bytes.Contains(uri, []byte("://")) {
		return uri
	}
	return uri[1:]
}

// appendMicros appends seconds with six decimals, rounded down.
func appendMicros(dst []byte, d time.Duration) []byte {
	us := int64(max(d, 0) / time.Microsecond)
	dst = append(strconv.AppendInt(dst, us/1e6, 10), '.')
	for unit := int64(1e5); unit > 0; unit /= 10 {
		dst = append(dst, '0'+byte(us/unit%10))
	}
	return dst
}

// appendWord quotes a word that has a blank or begins with a quote.
func appendWord(dst, v []byte) []byte {
	if len(v) > 0 && v[0] != '"' && bytes.IndexByte(v, ' ') < 0 {
		return append(dst, v...)
	}
	dst = append(dst, '"')
	dst = append(dst, bytes.ReplaceAll(v, []byte(`"`), []byte(`""`))...)
	return append(dst, '"')
}
