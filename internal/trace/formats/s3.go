package formats

import (
	"bytes"
	"time"

	"github.com/taktload/takt/internal/trace/fill"
	"github.com/taktload/takt/internal/trace/pattern"
)

// s3Shape is the server access log of Amazon S3 (docs.aws.amazon.com, Amazon S3 server access log
// format), up to the agent. The time is the one at which S3 received the request.
const s3Shape = `$owner $bucket [$time] $client $requester $id $operation $key "$request" $status $error $bytes $object $total $turnaround "$referer" "$user_agent"`

func s3Pieces(text string) ([]pattern.Piece, error) {
	return namedPieces(text, map[string]pattern.Variable{
		"time":       {Set: fill.Start, Role: pattern.Time, Blanks: 1},
		"client":     {Set: fill.Client},
		"request":    {Set: fill.Request, Role: pattern.Request, Blanks: 2},
		"status":     {Set: fill.Status},
		"bytes":      {Set: fill.Size(fill.AnswerBytes, false)},
		"total":      {Set: fill.Latency(time.Millisecond)},
		"referer":    {Set: fill.Referer},
		"user_agent": {Set: fill.Agent},
	})
}

// setS3Host stores the sixth word behind the agent: the header Host, in logs since 2019. Old logs end
// with the agent.
func setS3Host(f *fill.Line, v []byte) error {
	for range 6 {
		_, rest, ok := bytes.Cut(v, []byte(" "))
		if !ok {
			return nil
		}
		v = rest
	}
	host, _, _ := bytes.Cut(v, []byte(" "))
	return fill.Host(f, host)
}
