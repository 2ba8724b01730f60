package figures

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SecondRow is a row of Seconds.
type SecondRow struct {
	At                time.Time
	Mean              float64 // latency + xfertime, s; 0: unknown
	Bytes             float64 // the mean
	Requests, Errors  uint64
	Offered, P50, P99 float64 // requests per second, s, s; 0: unknown
}

// maxSeconds limits the rows of a file: each is one step of a curve.
const maxSeconds = 1000

// ErrSecondsOld is the error for a file of perf2seconds.
var ErrSecondsOld = errors.New("it was made by perf2seconds, which leaves the first request of each second out of the count but not out of the means; create it again with takt trace seconds, or give the load file")

// IsSeconds reports whether a file begins as Seconds or perf2seconds does.
func IsSeconds(beginning []byte) bool {
	return strings.HasPrefix(string(beginning), secondsHead[:len("#date time latency xfertime sleeptime bytes requests")])
}

// ReadSeconds reads what Seconds wrote. Stamps are in zone; nil: local.
func ReadSeconds(src io.Reader, zone *time.Location) (rows []SecondRow, err error) {
	if zone == nil {
		zone = time.Local
	}
	lines := bufio.NewScanner(src)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		words := strings.Fields(text)
		switch {
		case len(words) == 8:
			return nil, ErrSecondsOld
		case len(rows) == maxSeconds:
			return nil, fmt.Errorf("it has more than %d rows, and each row would be a step; give the load file from which it was made", maxSeconds)
		}
		row, err := secondOf(words, zone)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		rows = append(rows, row)
	}
	return rows, lines.Err()
}

func secondOf(words []string, zone *time.Location) (row SecondRow, err error) {
	if len(words) != 11 {
		return row, fmt.Errorf("%d columns instead of the 11 of takt trace seconds; create it again", len(words))
	}
	row.At, err = time.ParseInLocation("2006-01-02 15:04:05", words[0]+" "+words[1], zone)
	faults := []error{err}
	number := func(i int) float64 {
		if words[i] == noTime {
			return 0
		}
		v, err := strconv.ParseFloat(words[i], 64)
		if err == nil && !(v >= 0 && v < 1e15) {
			err = fmt.Errorf("%q is out of range", words[i])
		}
		faults = append(faults, err)
		return v
	}
	row.Mean, row.Bytes = number(2)+number(3), number(5)
	row.Requests, row.Errors = uint64(number(6)), uint64(number(7))
	row.Offered, row.P50, row.P99 = number(8), number(9), number(10)
	if row.Requests == 0 || row.Errors > row.Requests {
		faults = append(faults, fmt.Errorf("%d errors of %d requests", row.Errors, row.Requests))
	}
	return row, errors.Join(slices.DeleteFunc(faults, func(err error) bool { return err == nil })...)
}
