package formats

import (
	"bytes"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// albShape is the log of an AWS Application Load Balancer (docs.aws.amazon.com, Access logs for
// your Application Load Balancer), up to what takt uses. A line is written at the end of a
// request. Its latency is the sum of three times, each -1 without a target.
const albShape = `$type $time $elb $client $target $request_processing_time $target_processing_time $response_processing_time ` +
	`$elb_status_code $target_status_code $received_bytes $sent_bytes "$request" "$user_agent" $rest`

// elbShape is the log of an AWS Classic Load Balancer (docs.aws.amazon.com, Access logs for your
// Classic Load Balancer); the agent and the encryption follow in later versions.
const elbShape = `$time $elb $client $target $request_processing_time $target_processing_time $response_processing_time ` +
	`$elb_status_code $target_status_code $received_bytes $sent_bytes "$request"`

func setELBTail(f *parse.Line, v []byte) error {
	agent, ok := bytes.CutPrefix(v, []byte(` "`))
	if end := parse.EndQuote(agent); ok && end >= 0 {
		return parse.Agent(f, agent[:end])
	}
	return nil
}

func albPieces(text string) ([]parse.Piece, error) {
	taken := parse.Variable{Set: signed(addLatency)}
	return namedPieces(text, map[string]parse.Variable{
		"type":                     {Set: setALBType},
		"time":                     {Set: parse.End, Role: parse.RoleTime},
		"client":                   {Set: parse.Client},
		"request_processing_time":  taken,
		"target_processing_time":   taken,
		"response_processing_time": taken,
		"elb_status_code":          {Set: parse.Status},
		"received_bytes":           {Set: parse.Size(parse.RequestBytes, false)},
		"sent_bytes":               {Set: parse.Size(parse.AnswerBytes, true)},
		"request":                  {Set: parse.Request, Role: parse.RoleRequest, Blanks: 2},
		"user_agent":               {Set: parse.Agent},
	})
}

// setALBType refuses lines that do not begin with a type of connection.
func setALBType(_ *parse.Line, v []byte) error {
	for _, known := range []string{"http", "https", "h2", "grpcs", "ws", "wss"} {
		if string(v) == known {
			return nil
		}
	}
	return parse.ErrPrefix
}

// addLatency adds one of the three times, in seconds.
func addLatency(f *parse.Line, v []byte) error {
	d, ok := parse.Decimal(bytes.TrimSpace(v), time.Second)
	if !ok {
		return parse.ErrTaken
	}
	f.Rec.Latency = max(f.Rec.Latency, 0) + d
	return nil
}
