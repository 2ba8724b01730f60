package target

import (
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// What clients such as grpcurl ask a server about itself: its health, and by reflection its services. A target answers
// at once, whatever its behaviour is.

// The services of a target.
const (
	ownService        = "takt.Target"
	healthService     = "grpc.health.v1.Health"
	reflectionService = "grpc.reflection.v1.ServerReflection"
	reflectionOld     = "grpc.reflection.v1alpha.ServerReflection" // the same messages
)

// serving is the answer of a health check: SERVING, in the field status.
var serving = framed(varint(nil, 1, 1))

// Fields of messages of reflection: ServerReflectionRequest and ServerReflectionResponse.
const (
	askFile       = 3
	askSymbol     = 4
	askExtension  = 5
	askExtensions = 6
	askServices   = 7

	tellRequest  = 2
	tellFiles    = 4
	tellServices = 6
	tellError    = 7
)

// codeNotFound is the status of an unknown symbol.
const codeNotFound = 5

// describe answers a message of reflection.
func describe(message []byte) (answer []byte, r *refusal) {
	if message[0] != 0 {
		return nil, refusedCoding
	}
	request := message[prefixLength:]
	kind, text, ok := asked(request)
	if !ok {
		return nil, refusedQuestion
	}
	return framed(append(field(tellRequest, request), answerOf(kind, text)...)), nil
}

// asked is the field of a request that says what it asks.
func asked(request []byte) (kind protowire.Number, text string, ok bool) {
	for len(request) > 0 {
		number, wire, n := protowire.ConsumeTag(request)
		if n < 0 {
			return 0, "", false
		}
		request = request[n:]
		if n = protowire.ConsumeFieldValue(number, wire, request); n < 0 {
			return 0, "", false
		}
		if number >= askFile && number <= askServices {
			kind, text = number, ""
			if b, m := protowire.ConsumeBytes(request[:n]); m == n && wire == protowire.BytesType {
				text = string(b)
			}
		}
		request = request[n:]
	}
	return kind, text, kind != 0
}

// answerOf is the field of an answer that has what was asked for.
func answerOf(kind protowire.Number, text string) []byte {
	switch kind {
	case askServices:
		var list []byte
		for _, f := range files {
			list = append(list, field(1, field(1, f.service))...)
		}
		return field(tellServices, list)
	case askFile, askSymbol:
		for _, f := range files {
			if kind == askFile && text == f.name || kind == askSymbol && f.has(text) {
				return field(tellFiles, field(1, f.descriptor()))
			}
		}
	}
	return field(tellError, append(varint(nil, 1, codeNotFound), field(2, "not found")...))
}

// file is a file of protobuf with one service.
type file struct {
	name, pkg, service string
	methods            []rpc
	messages           []message
}

// rpc is a method of a service. Its types are messages of its file.
type rpc struct {
	name, in, out          string
	clientMany, serverMany bool
}

// message is a message with one field.
type message struct {
	name, field string
	kind        uint64   // of the field, as FieldDescriptorProto.Type
	enum        []string // the values of its only enum, ServingStatus
}

// Types of fields, in descriptor.proto.
const (
	typeString = 9
	typeBytes  = 12
	typeEnum   = 14
)

// files are all files that a target has.
var files = []file{
	{"takt/target.proto", "takt", ownService, []rpc{
		{"Unary", "Message", "Message", false, false}, {"ServerStream", "Message", "Message", false, true},
		{"ClientStream", "Message", "Message", true, false}, {"BidiStream", "Message", "Message", true, true},
	}, []message{{"Message", "body", typeBytes, nil}}},
	{"grpc/health/v1/health.proto", "grpc.health.v1", healthService, []rpc{{"Check", "HealthCheckRequest", "HealthCheckResponse", false, false}},
		[]message{{"HealthCheckRequest", "service", typeString, nil},
			{"HealthCheckResponse", "status", typeEnum, []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}}}},
}

// has reports whether a symbol is in f: its service, a method of it, or a message.
func (f *file) has(symbol string) bool {
	return symbol == f.service ||
		slices.ContainsFunc(f.methods, func(m rpc) bool { return symbol == f.service+"."+m.name }) ||
		slices.ContainsFunc(f.messages, func(m message) bool {
			return symbol == f.pkg+"."+m.name || m.enum != nil && symbol == f.pkg+"."+m.name+".ServingStatus"
		})
}

// descriptor is f as a FileDescriptorProto.
func (f *file) descriptor() []byte {
	b := append(field(1, f.name), field(2, f.pkg)...)
	for _, m := range f.messages {
		b = append(b, field(4, m.descriptor(f.pkg))...)
	}
	service := field(1, f.service[len(f.pkg)+1:])
	for _, m := range f.methods {
		service = append(service, field(2, m.descriptor(f.pkg))...)
	}
	return append(append(b, field(6, service)...), field(12, "proto3")...)
}

func (m *rpc) descriptor(pkg string) []byte {
	b := append(field(1, m.name), field(2, "."+pkg+"."+m.in)...)
	b = append(b, field(3, "."+pkg+"."+m.out)...)
	b = varint(b, 5, protowire.EncodeBool(m.clientMany))
	return varint(b, 6, protowire.EncodeBool(m.serverMany))
}

func (m *message) descriptor(pkg string) []byte {
	inner := varint(varint(varint(field(1, m.field), 3, 1), 4, 1), 5, m.kind) // number 1, optional
	b := field(1, m.name)
	if m.enum == nil {
		return append(b, field(2, inner)...)
	}
	enum := field(1, "ServingStatus")
	for i, name := range m.enum {
		enum = append(enum, field(2, varint(field(1, name), 2, uint64(i)))...)
	}
	inner = append(inner, field(6, "."+pkg+"."+m.name+".ServingStatus")...)
	return append(append(b, field(2, inner)...), field(4, enum)...)
}

// varint appends a field that is a number.
func varint(b []byte, number protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), v)
}
