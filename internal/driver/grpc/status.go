package grpc

import (
	"encoding/base64"
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/http1"
)

// codes are the classes of the codes of gRPC, by their numbers. 0 is no failure.
var codes = [...]string{
	"", "cancelled", "unknown", "invalid_argument", "deadline_exceeded", "not_found", "already_exists", "permission_denied",
	"resource_exhausted", "failed_precondition", "aborted", "out_of_range", "unimplemented", "internal", "unavailable", "data_loss",
	"unauthenticated",
}

// Codes that takt itself uses.
const (
	codeUnknown          = 2
	codeDeadlineExceeded = 4
	codeUnimplemented    = 12
)

// classOf is the class of a code. Clients take codes that gRPC does not define for unknown.
func classOf(code int) string {
	if code < len(codes) {
		return codes[code]
	}
	return codes[codeUnknown]
}

// noCode: the answer has no status.
const noCode = -1

// codeOf reads a grpc-status.
func codeOf(value []byte) (int, error) {
	n, ok := http1.Decimal(value)
	if !ok || n > 1<<30 {
		return 0, &fault{http1.ClassMalformed, fmt.Sprintf("grpc-status %.20q is no number", value)}
	}
	return int(n), nil
}

// status is what the trailers say. It is the error of its call, and makes its text only when somebody asks.
type status struct {
	code    int
	message []byte // percent-encoded
	details []byte // base64 of a google.rpc.Status
}

// mostText is how much is kept of a message or of details.
const mostText = 4 << 10

func (s *status) reset() { s.code, s.message, s.details = noCode, s.message[:0], s.details[:0] }

// Error is the name of the code, the message and the details.
func (s *status) Error() string {
	text := classOf(s.code)
	if s.code >= len(codes) {
		text = fmt.Sprintf("code %d, which gRPC does not define", s.code)
	}
	if m := foreign.Line(decodePercent(string(s.message))); m != "" {
		text += ": " + m
	}
	if d := readDetails(s.details); d != "" {
		text += "; details: " + d
	}
	return text
}

// decodePercent decodes a grpc-message. What is no escape stays as it is, as the protocol demands.
func decodePercent(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			high, one := hexDigit(s[i+1])
			low, two := hexDigit(s[i+2])
			if one && two {
				b = append(b, high<<4|low)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

func hexDigit(b byte) (byte, bool) {
	if b >= '0' && b <= '9' {
		return b - '0', true
	}
	b |= 0x20
	return b - 'a' + 10, b >= 'a' && b <= 'f'
}

// mostDetails is how many details are shown.
const mostDetails = 8

// readDetails shows the details of a google.rpc.Status: the type of each, and the texts in it.
func readDetails(encoded []byte) string {
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(encoded), "="))
	if err != nil || len(b) == 0 {
		return ""
	}
	var list []string
	for _, detail := range fieldsOf(b, 3) {
		var name string
		for _, url := range fieldsOf(detail, 1) {
			name = string(url[strings.LastIndexByte(string(url), '/')+1:])
		}
		for _, value := range fieldsOf(detail, 2) {
			name += texts(value, 2)
		}
		if list = append(list, foreign.Line(name)); len(list) == mostDetails {
			break
		}
	}
	return strings.Join(list, ", ")
}

// fieldsOf are the values of all fields of a message with that number that have a length.
func fieldsOf(b []byte, number protowire.Number) (values [][]byte) {
	eachField(b, func(n protowire.Number, value []byte) {
		if n == number {
			values = append(values, value)
		}
	})
	return values
}

// eachField calls f with the fields of a message that have a length, and reports whether b is a message.
func eachField(b []byte, f func(n protowire.Number, value []byte)) bool {
	for len(b) > 0 {
		n, kind, used := protowire.ConsumeTag(b)
		if used < 0 {
			return false
		}
		b = b[used:]
		used = protowire.ConsumeFieldValue(n, kind, b)
		if used < 0 {
			return false
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(b)
			f(n, value)
		}
		b = b[used:]
	}
	return true
}

// texts are the texts in a message whose type is not known, and those in its messages down to a depth.
func texts(b []byte, depth int) string {
	var list strings.Builder
	eachField(b, func(_ protowire.Number, value []byte) {
		switch {
		case isText(value):
			fmt.Fprintf(&list, " %q", value)
		case depth > 0:
			list.WriteString(texts(value, depth-1))
		}
	})
	return list.String()
}

// isText reports whether b looks like a text for people.
func isText(b []byte) bool {
	for _, c := range b {
		if c < ' ' || c == 0x7f {
			return false
		}
	}
	return len(b) > 0 && strings.ToValidUTF8(string(b), "") == string(b)
}
