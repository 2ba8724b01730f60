package generators

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// jtl reads JMeter's table of samples, which has a row for each request (jmeter -n -l FILE). JMeter's own
// summary has neither percentiles nor, within seconds, all samples.
func jtl() *Reader {
	return &Reader{
		Name: "jmeter", Ask: []string{"-j", os.DevNull, "--version"}, Asked: regexp.MustCompile(`(?m)^.*\\ (\d+\.\d+(?:\.\d+)?)\s*$`),
		marks: []*regexp.Regexp{regexp.MustCompile(`\AtimeStamp,elapsed,label,`)},
		own:   readJTL,
	}
}

// readJTL computes the figures of all samples, in JMeter's way: percentiles are those of all samples, good or
// bad, by nearest rank.
func readJTL(text string) (Said, error) {
	rows := csv.NewReader(strings.NewReader(text))
	head, err := rows.Read()
	if err != nil {
		return Said{}, fmt.Errorf("the table has no head: %w", err)
	}
	column := map[string]int{}
	for _, name := range []string{"timeStamp", "elapsed", "success"} {
		if column[name] = slices.Index(head, name); column[name] < 0 {
			return Said{}, fmt.Errorf("the table has no column %s; leave jmeter.save.saveservice.* as they are", name)
		}
	}
	var elapsed []float64
	good, first, last := 0, math.Inf(1), 0.0
	for {
		row, err := rows.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return Said{}, fmt.Errorf("the table cannot be read: %w", err)
		}
		at, err1 := strconv.ParseFloat(row[column["timeStamp"]], 64)
		ms, err2 := strconv.ParseFloat(row[column["elapsed"]], 64)
		if err1 != nil || err2 != nil {
			return Said{}, fmt.Errorf("%q and %q are not the time and the length of a sample in ms", row[column["timeStamp"]], row[column["elapsed"]])
		}
		elapsed, first, last = append(elapsed, ms), min(first, at), max(last, at+ms)
		if row[column["success"]] == "true" {
			good++
		}
	}
	if len(elapsed) == 0 {
		return Said{}, errors.New("the table has no samples")
	}
	slices.Sort(elapsed)
	said := Said{Figures: map[string]float64{Answered: float64(good), Errors: float64(len(elapsed) - good), Max: elapsed[len(elapsed)-1]}}
	for name, share := range map[string]float64{P50: 0.5, P90: 0.9, P99: 0.99} {
		said.Figures[name] = Quantile(elapsed, share)
	}
	if last > first {
		said.Figures[Rate] = float64(len(elapsed)) / (last - first) * 1000
	}
	return said, nil
}

// Quantile is the value of sorted values that the share of them does not exceed: the nearest rank.
func Quantile(sorted []float64, share float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(len(sorted)-1, max(0, int(math.Ceil(share*float64(len(sorted))))-1))]
}
