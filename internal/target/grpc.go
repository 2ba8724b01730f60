package target

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/taktload/takt/internal/dist"
	"github.com/taktload/takt/internal/http2/serve"
	"github.com/taktload/takt/internal/value"
)

// With --grpc the target answers calls of gRPC over HTTP/2. A call is a flow of the line, as a stream of tokens is: one
// message of the answer is a token. A bidirectional stream is a flow of echoes, see echo.go.

// Bounds of calls.
const (
	defaultMessages = 10
	maxMessage      = 4 << 20 // bytes of a message of a request, as in other servers
)

// calls are the settings of gRPC.
type calls struct {
	on      bool
	stream  bool   // any method but those of takt.Target answers with a stream
	message []byte // of each answer, with its prefix; nil: an echo
}

func (o *Options) addCallFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&o.GRPC, "grpc", false, "answer gRPC calls of any method over HTTP/2, with an echo of the request's message")
	fs.Var(value.Text(&o.GRPCStream), "grpc-stream", "answer calls with streams of messages, each `TIME` after the one before, such as 20ms or exp(20ms); --service is the time to the first")
	fs.IntVar(&o.GRPCMessages, "grpc-messages", defaultMessages, "`messages` of a stream")
	fs.Var(value.Size(&o.GRPCSize), "grpc-size", "`bytes` of each message of an answer instead of the echo; 0: the echo")
}

// calls reads the options of gRPC, and notes their faults. Streams of messages have the settings of streams of tokens.
func (o Options) calls(note func(flag string, err error), streams *sse) (c calls) {
	if c.on = o.GRPC; !c.on {
		for _, f := range []struct {
			name  string
			given bool
		}{
			{"grpc-stream", o.GRPCStream != ""}, {"grpc-messages", o.GRPCMessages != 0 && o.GRPCMessages != defaultMessages}, {"grpc-size", o.GRPCSize != 0},
		} {
			if f.given {
				note(f.name, errors.New("only calls have this; add --grpc"))
			}
		}
		return c
	}
	if streams.on {
		note("sse", errors.New("a target answers calls or streams tokens; leave out --grpc or --sse"))
	}
	if o.Status != 0 && o.Status != defaultStatus {
		note("status", errors.New("calls have status 200; leave out --grpc or --status"))
	}
	c.stream = o.GRPCStream != ""
	var err error
	streams.gap, err = dist.Parse(o.GRPCStream)
	note("grpc-stream", err)
	if streams.tokens = o.GRPCMessages; streams.tokens == 0 {
		streams.tokens = defaultMessages
	}
	if streams.tokens < 1 || streams.tokens > maxTokens {
		note("grpc-messages", fmt.Errorf("%d messages are not possible; write 1 to %d", streams.tokens, maxTokens))
	}
	streams.rand = rand.New(rand.NewPCG(o.Seed, 4))
	note("grpc-size", checkSize(o.GRPCSize))
	if o.GRPCSize > 0 && o.GRPCSize <= maxSize {
		c.message = framed(field(1, filler(o.GRPCSize)))
	}
	return c
}

// method is what the target does with a call.
type method uint8

const (
	oneAnswer   method = iota // one message when the client has sent its last
	manyAnswers               // a stream of messages then
	echoes                    // a message for each one of the client, as they come
	healthCheck
	reflection
	noMethod
)

// methodOf is the method of a path.
func (c *calls) methodOf(path string) method {
	service, name, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case !ok || path[0] != '/' || service == "" || name == "" || strings.Contains(name, "/"):
		return noMethod
	case service == healthService:
		return among(name, "Check", healthCheck)
	case service == reflectionService || service == reflectionOld:
		return among(name, "ServerReflectionInfo", reflection)
	case service != ownService:
		if c.stream {
			return manyAnswers
		}
		return oneAnswer
	}
	switch name {
	case "Unary", "ClientStream":
		return oneAnswer
	case "ServerStream":
		return manyAnswers
	}
	return among(name, "BidiStream", echoes)
}

// among is m if a service's only method of its kind is called.
func among(name, only string, m method) method {
	if name != only {
		return noMethod
	}
	return m
}

// The status codes that the target sends.
const (
	codeOK            = 0
	codeExhausted     = 8
	codeUnimplemented = 12
	codeInternal      = 13
	codeUnavailable   = 14
)

// refusal is why the target does not answer a call.
type refusal struct {
	code int
	text string // without % and control characters, so it is its own percent encoding
}

var (
	refusedMethod   = &refusal{codeUnimplemented, "takt target: no such method"}
	refusedCoding   = &refusal{codeUnimplemented, "takt target: the compression of the request is neither gzip nor identity"}
	refusedPacked   = &refusal{codeInternal, "takt target: a message is compressed, and the request names no compression"}
	refusedFlag     = &refusal{codeInternal, "takt target: the first byte of a message is neither 0 nor 1"}
	refusedLong     = &refusal{codeExhausted, "takt target: a message has more than 4 MiB"}
	refusedMany     = &refusal{codeExhausted, "takt target: too many messages wait for their echo"}
	refusedCut      = &refusal{codeInternal, "takt target: the request ends inside a message"}
	refusedQuestion = &refusal{codeInternal, "takt target: the message is not one of this method"}
	failedCall      = &refusal{codeUnavailable, strings.TrimSuffix(failure, "\n")}
)

// callType is the content-type of calls, with or without more after it.
const callType = "application/grpc"

// notCall is what a client hears whose request is no call.
const notCall = "takt target: this target answers gRPC calls; leave out --grpc to answer other requests"

// head is the head of an answer, or all of one that is a refusal.
func head(more ...serve.Field) serve.Answer {
	return serve.NewAnswer("", append([]serve.Field{{Name: ":status", Value: "200"}, {Name: "content-type", Value: callType}}, more...)...)
}

var (
	plainHead  = head()
	packedHead = head(serve.Field{Name: "grpc-encoding", Value: "gzip"})
	goodEnd    = serve.NewAnswer("", serve.Field{Name: "grpc-status", Value: strconv.Itoa(codeOK)})
)

// trailers say why a call is refused.
func (r *refusal) trailers() []serve.Field {
	list := []serve.Field{{Name: "grpc-status", Value: strconv.Itoa(r.code)}, {Name: "grpc-message", Value: r.text}}
	if r == refusedCoding {
		list = append(list, serve.Field{Name: "grpc-accept-encoding", Value: "identity,gzip"})
	}
	return list
}

// The prefix of a message: a byte that is 1 if the message is compressed, and the length.
const prefixLength = 5

// framed is a message with its prefix.
func framed(message []byte) []byte {
	b := binary.BigEndian.AppendUint32(make([]byte, 1, prefixLength+len(message)), uint32(len(message)))
	return append(b, message...)
}

// field is a field of a message that is a text, bytes or a message.
func field[T string | []byte](number protowire.Number, v T) []byte {
	return append(protowire.AppendVarint(protowire.AppendTag(nil, number, protowire.BytesType), uint64(len(v))), v...)
}

// incoming reads the messages of a request, in pieces.
type incoming struct {
	packed  bool // the request names a compression
	partial []byte
}

// feed takes bytes of the request, and gives those messages to take that are complete, with their prefixes.
func (in *incoming) feed(b []byte, take func(message []byte) *refusal) *refusal {
	in.partial = append(in.partial, b...)
	for {
		n, r := in.next()
		if r != nil || n == 0 {
			return r
		}
		message := in.partial[:n:n]
		if in.partial = in.partial[n:]; len(in.partial) == 0 {
			in.partial = nil // message has the memory
		}
		if r := take(message); r != nil {
			return r
		}
	}
}

// next is the length of the first message; 0: it is not complete.
func (in *incoming) next() (n int, _ *refusal) {
	if len(in.partial) < prefixLength {
		return 0, nil
	}
	switch length := binary.BigEndian.Uint32(in.partial[1:]); {
	case in.partial[0] > 1:
		return 0, refusedFlag
	case in.partial[0] == 1 && !in.packed:
		return 0, refusedPacked
	case length > maxMessage:
		return 0, refusedLong
	case len(in.partial) < prefixLength+int(length):
		return 0, nil
	default:
		return prefixLength + int(length), nil
	}
}
