package trace

import (
	"bytes"
	"time"
)

// newALB returns the parser for the log of an AWS Application Load Balancer
// (docs.aws.amazon.com, Access logs for your Application Load Balancer). A line is written
// at the end of a request. Its latency is the sum of three times, each -1 without a target.
func newALB() (*pattern, error) {
	var pieces []piece
	add := func(name string, v variable, literal string) {
		pieces = append(pieces, piece{name: name, variable: v}, piece{literal: literal})
	}
	ignored, taken := variable{}, variable{set: signed(addLatency)}
	add("type", ignored, " ")
	add("time", variable{set: setEnd, kind: timeKind}, " ")
	add("elb", ignored, " ")
	add("client:port", variable{set: setClient}, " ")
	add("target:port", ignored, " ")
	add("request_processing_time", taken, " ")
	add("target_processing_time", taken, " ")
	add("response_processing_time", taken, " ")
	add("elb_status_code", variable{set: setStatus}, " ")
	add("target_status_code", ignored, " ")
	add("received_bytes", variable{set: setSize(requestBytes, false)}, " ")
	add("sent_bytes", variable{set: setSize(answerBytes, true)}, ` "`)
	add("request", variable{set: setRequest, kind: requestKind, blanks: 2}, `" "`)
	add("user_agent", variable{set: setAgent}, `" `)
	pieces = append(pieces, piece{name: "rest"})
	p, err := newPattern(pieces)
	if err == nil {
		p.values[0].set = setALBType
	}
	return p, err
}

// setALBType refuses lines that do not begin with a type of connection.
func setALBType(_ *filler, v []byte) error {
	for _, known := range []string{"http", "https", "h2", "grpcs", "ws", "wss"} {
		if string(v) == known {
			return nil
		}
	}
	return errPrefix
}

// addLatency adds one of the three times, in seconds.
func addLatency(f *filler, v []byte) error {
	d, ok := decimal(bytes.TrimSpace(v), time.Second)
	if !ok {
		return errTaken
	}
	f.rec.Latency = max(f.rec.Latency, 0) + d
	return nil
}
