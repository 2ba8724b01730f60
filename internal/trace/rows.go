package trace

import (
	"bytes"
	"errors"
	"strconv"
	"time"
)

// LoadHead is the first line of a load file of results.
const LoadHead = "#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op expected\n"

// loadInputHead is that of a load file made from another log: its tenth column has
// the bodies.
const loadInputHead = "#yyy-mm-dd hh:mm:ss latency xfertime sleeptime bytes url rc op body\n"

// maxBody bounds a body in a row: a row has to be a line that can be read.
const maxBody = maxLine / 2

var errBody = errors.New("the body has line ends or more than 128 KiB, which a row of the load format cannot hold")

// AppendStep appends the comment that begins a step of a ramp, rate in requests per
// second.
func AppendStep(dst []byte, rate float64) []byte {
	return append(strconv.AppendFloat(append(dst, "#request/second = "...), rate, 'f', -1, 64), '\n')
}

// AppendRow appends the row of a result, in the zone of r.At: the columns of
// LoadHead, and expectedRC=NNN where another status than r.Status was expected. A
// time that is not known is 0 without decimals.
func AppendRow(dst []byte, r *Record) []byte {
	dst = append(appendColumns(dst, r, r.Bytes), ' ')
	dst = strconv.AppendFloat(dst, r.Offered, 'f', -1, 64)
	return append(appendExpected(dst, r), '\n')
}

// appendExpected appends the status that was expected, where it did not come.
func appendExpected(dst []byte, r *Record) []byte {
	if r.Expected == 0 || r.Expected == r.Status {
		return dst
	}
	return strconv.AppendInt(append(dst, "  expectedRC="...), int64(r.Expected), 10)
}

// appendInputRow appends the row of a request that was logged, with its body, or of a
// GET or HEAD with the rate that was offered. The size is that of the answer to a GET
// or HEAD, else of what has to be sent.
func appendInputRow(dst []byte, r *Record) ([]byte, error) {
	if bytes.ContainsAny(r.Body, "\r\n") || len(r.Body) > maxBody {
		return dst, errBody
	}
	n := r.Bytes
	if !isReading(r.Method) {
		n = r.RequestBytes
	}
	dst = appendColumns(dst, r, n)
	switch {
	case isReading(r.Method) && r.Offered > 0:
		dst = strconv.AppendFloat(append(dst, ' '), r.Offered, 'f', -1, 64)
	case len(r.Body) > 0:
		dst = appendWord(append(dst, ' '), r.Body)
	}
	return append(appendExpected(dst, r), '\n'), nil
}

// appendColumns appends the first nine columns.
func appendColumns(dst []byte, r *Record, size int64) []byte {
	dst = append(appendTime(dst, r), ' ')
	if r.Latency == Unknown {
		dst = append(dst, '0')
	} else {
		dst = appendMicros(dst, r.Latency-max(r.Transfer, 0))
	}
	dst = append(dst, ' ')
	if r.Transfer == Unknown {
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

// appendTime appends when the request started, without a fraction if the log has
// none, and "- -" if it has no times. Of an end that is known to the second the
// middle of this second counts: 2 ms less would otherwise always be the second before.
func appendTime(dst []byte, r *Record) []byte {
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

// bare takes off the slash that the predecessor's paths do not have, where the path
// reads the same without.
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
