package formats

import (
	"bytes"
	"time"

	"github.com/taktload/takt/internal/trace/parse"
)

// s3Shape is the server access log of Amazon S3 (docs.aws.amazon.com, Amazon S3 server access log
// format), up to the agent. The time is the one at which S3 received the request.
const s3Shape = `$owner $bucket [$time] $client $requester $id $operation $key "$request" $status $error $bytes $object $total $turnaround "$referer" "$user_agent"`

func s3Pieces(text string) ([]parse.Piece, error) {
	return namedPieces(text, map[string]parse.Variable{
		"time":       {Set: parse.Start, Role: parse.RoleTime, Blanks: 1},
		"client":     {Set: parse.Client},
		"request":    {Set: parse.Request, Role: parse.RoleRequest, Blanks: 2},
		"status":     {Set: parse.Status},
		"bytes":      {Set: parse.Size(parse.AnswerBytes, false)},
		"total":      {Set: parse.Latency(time.Millisecond)},
		"referer":    {Set: parse.Referer},
		"user_agent": {Set: parse.Agent},
	})
}

// setS3Host stores the sixth word behind the agent: the header Host, in logs since 2019. Old logs end
// with the agent.
func setS3Host(f *parse.Line, v []byte) error {
	for range 6 {
		_, rest, ok := bytes.Cut(v, []byte(" "))
		if !ok {
			return nil
		}
		v = rest
	}
	host, _, _ := bytes.Cut(v, []byte(" "))
	return parse.Host(f, host)
}
