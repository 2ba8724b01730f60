package trace

import (
	"bytes"
	"time"
)

// albShape is the log of an AWS Application Load Balancer (docs.aws.amazon.com, Access logs for
// your Application Load Balancer), up to what takt uses. A line is written at the end of a
// request. Its latency is the sum of three times, each -1 without a target.
const albShape = `$type $time $elb $client $target $request_processing_time $target_processing_time $response_processing_time ` +
	`$elb_status_code $target_status_code $received_bytes $sent_bytes "$request" "$user_agent" $rest`

func albPieces(text string) ([]piece, error) {
	taken := variable{set: signed(addLatency)}
	return namedPieces(text, map[string]variable{
		"type":                     {set: setALBType},
		"time":                     {set: setEnd, kind: timeKind},
		"client":                   {set: setClient},
		"request_processing_time":  taken,
		"target_processing_time":   taken,
		"response_processing_time": taken,
		"elb_status_code":          {set: setStatus},
		"received_bytes":           {set: setSize(requestBytes, false)},
		"sent_bytes":               {set: setSize(answerBytes, true)},
		"request":                  {set: setRequest, kind: requestKind, blanks: 2},
		"user_agent":               {set: setAgent},
	})
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
