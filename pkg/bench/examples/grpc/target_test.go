package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	health "google.golang.org/grpc/health/grpc_health_v1"
	reflection "google.golang.org/grpc/reflection/grpc_reflection_v1"
	reflectionalpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/taktload/takt/internal/target"
	"github.com/taktload/takt/internal/test/targettest"
)

// The target of takt, as gRPC's own client sees it. A message of takt.Target is one of google.protobuf.BytesValue: one
// field of bytes with the number 1.

// begin starts a target that answers calls.
func begin(t *testing.T, o target.Options) (s *target.Server, c *grpc.ClientConn, stop func()) {
	t.Helper()
	o.GRPC = true
	s, end, err := targettest.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	security := insecure.NewCredentials()
	if o.TLS {
		security = credentials.NewTLS(&tls.Config{InsecureSkipVerify: true})
	}
	_, addr, _ := strings.Cut(s.URL(), "://")
	if c, err = grpc.NewClient(addr, grpc.WithTransportCredentials(security)); err != nil {
		t.Fatal(err)
	}
	once := false
	stop = func() {
		if once {
			return
		}
		once = true
		if err := errors.Join(c.Close(), end()); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return s, c, stop
}

// soon is a context that ends with the test, and after what takes milliseconds.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func text(s string) *wrapperspb.BytesValue { return wrapperspb.Bytes([]byte(s)) }

// stream opens a stream.
func stream(t *testing.T, ctx context.Context, c *grpc.ClientConn, method string, both bool, opts ...grpc.CallOption) grpc.ClientStream {
	t.Helper()
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: both}, method, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(t *testing.T, s grpc.ClientStream, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if err := s.SendMsg(text(m)); err != nil {
			t.Fatal(err)
		}
	}
}

// all are the messages up to the end of a stream.
func all(s grpc.ClientStream) (list []string, err error) {
	for {
		var m wrapperspb.BytesValue
		if err := s.RecvMsg(&m); err != nil {
			if err == io.EOF {
				err = nil
			}
			return list, err
		}
		list = append(list, string(m.Value))
	}
}

func TestTarget(t *testing.T) {
	for name, o := range map[string]target.Options{
		"plain": {}, "service": {Service: "1ms", Servers: 2}, "tls": {TLS: true}, "streams of one": {H2Streams: 1, H2Requests: 3},
	} {
		t.Run(name, func(t *testing.T) {
			o.GRPCMessages = 4
			s, c, stop := begin(t, o)
			ctx, large := soon(t), strings.Repeat("x", 1<<20)
			for _, method := range []string{"/takt.Target/Unary", "/a.B/C"} {
				for _, m := range []string{"hello", "", large} {
					for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
						var got wrapperspb.BytesValue
						if err := c.Invoke(ctx, method, text(m), &got, opts...); err != nil || string(got.Value) != m {
							t.Fatalf("%s: %v, %d bytes; want an echo of %d", method, err, len(got.Value), len(m))
						}
					}
				}
			}
			many := stream(t, ctx, c, "/takt.Target/ServerStream", false)
			send(t, many, "one")
			_ = many.CloseSend()
			if got, err := all(many); err != nil || !slices.Equal(got, []string{"one", "one", "one", "one"}) {
				t.Errorf("server stream: %q, %v", got, err)
			}
			in := stream(t, ctx, c, "/takt.Target/ClientStream", true)
			send(t, in, "a", large, "c")
			_ = in.CloseSend()
			if got, err := all(in); err != nil || !slices.Equal(got, []string{"c"}) {
				t.Errorf("client stream: %q, %v; want the last message", got, err)
			}
			both := stream(t, ctx, c, "/takt.Target/BidiStream", true, grpc.UseCompressor(gzip.Name))
			for _, m := range []string{"a", "", large, "b"} {
				send(t, both, m)
				var got wrapperspb.BytesValue
				if err := both.RecvMsg(&got); err != nil || string(got.Value) != m {
					t.Fatalf("%v, %d bytes; want an echo of %d", err, len(got.Value), len(m))
				}
			}
			send(t, both, "x", "y", "z")
			_ = both.CloseSend()
			if got, err := all(both); err != nil || !slices.Equal(got, []string{"x", "y", "z"}) {
				t.Errorf("bidirectional stream: %q, %v", got, err)
			}
			stop()
			if n := s.Truth().Counts; n.Requests != 15 || n.OK != 15 || n.Malformed != 0 {
				t.Errorf("%+v", n)
			}
			streams := s.Truth().Streams
			if n := []int{len(streams[0].Sent), len(streams[12].Sent), len(streams[13].Sent), len(streams[14].Sent)}; !slices.Equal(n, []int{1, 4, 1, 7}) {
				t.Errorf("messages of a call, and of streams: %v", n)
			}
		})
	}
}

// The share of calls that fail is the one of the truth, and each has its code.
func TestTargetFails(t *testing.T) {
	s, c, stop := begin(t, target.Options{Service: "100us", Seed: 3, ErrorRate: 0.1, ResetRate: 0.05, GRPCMessages: 3})
	got := map[codes.Code]uint64{}
	for i := range 600 {
		ctx, method := soon(t), []string{"/takt.Target/ServerStream", "/takt.Target/BidiStream", "/takt.Target/Unary"}[i%3]
		call := stream(t, ctx, c, method, true)
		send(t, call, "hello")
		_ = call.CloseSend()
		_, err := all(call)
		got[status.Code(err)]++
		if status.Code(err) == codes.Unavailable && status.Convert(err).Message() != "takt target: failed on purpose, see --error-rate" {
			t.Fatal(err)
		}
	}
	stop()
	n := s.Truth().Counts
	if got[codes.OK] != n.OK || got[codes.Unavailable] != n.Errors || got[codes.Internal] != n.Resets || n.Requests != 600 || n.Errors < 30 || n.Resets < 10 {
		t.Errorf("client %v, server %+v", got, n)
	}
}

// Calls that are wrong, or that the target does not have.
func TestTargetRefuses(t *testing.T) {
	s, c, stop := begin(t, target.Options{})
	for method, want := range map[string]codes.Code{
		"/takt.Target/Other": codes.Unimplemented, "/grpc.health.v1.Health/Watch": codes.Unimplemented, "/x": codes.Unimplemented,
		"/takt.Target/Unary": codes.ResourceExhausted, "/takt.Target/BidiStream": codes.ResourceExhausted,
	} {
		call := stream(t, soon(t), c, method, true)
		_ = call.SendMsg(text(strings.Repeat("x", 5<<20))) // may fail when the answer comes before all is sent
		if _, err := all(call); status.Code(err) != want {
			t.Errorf("%s: %v; want %v", method, err, want)
		}
	}
	stop()
	if n := s.Truth().Counts; n.Malformed != 5 || n.Requests != n.Left {
		t.Errorf("%+v", n)
	}
}

// A client that leaves frees its server, though its stream rests; a deadline ends a call.
func TestTargetIsLeft(t *testing.T) {
	s, c, stop := begin(t, target.Options{Servers: 1})
	for range 3 {
		ctx, leave := context.WithCancel(soon(t))
		call := stream(t, ctx, c, "/takt.Target/BidiStream", true)
		send(t, call, "a")
		if err := call.RecvMsg(new(wrapperspb.BytesValue)); err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := c.Invoke(short, "/takt.Target/Unary", text(""), new(wrapperspb.BytesValue)); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%v while the only server is occupied", err)
		}
		cancel()
		leave()
	}
	if err := c.Invoke(soon(t), "/takt.Target/Unary", text(""), new(wrapperspb.BytesValue)); err != nil {
		t.Error(err)
	}
	stop()
	if n := s.Truth().Counts; n.OK != 1 || n.Left != 6 || n.Unfinished != 0 {
		t.Errorf("%+v", n)
	}
}

// Messages of another size, a stream for every method, and more than a client reads at once.
func TestTargetSize(t *testing.T) {
	_, c, _ := begin(t, target.Options{GRPCSize: 100_000, GRPCMessages: 300, GRPCStream: "0"})
	call := stream(t, soon(t), c, "/a.B/C", false)
	send(t, call, "hello")
	_ = call.CloseSend()
	time.Sleep(20 * time.Millisecond) // the target is ahead
	got, err := all(call)
	if err != nil || len(got) != 300 || len(got[299]) != 100_000 {
		t.Errorf("%d messages, %v", len(got), err)
	}
}

func TestTargetHealth(t *testing.T) {
	s, c, _ := begin(t, target.Options{ErrorRate: 1})
	r, err := health.NewHealthClient(c).Check(soon(t), &health.HealthCheckRequest{Service: "takt.Target"})
	if err != nil || r.Status != health.HealthCheckResponse_SERVING || s.Requests() != 0 {
		t.Error(r, err)
	}
}

// What the target says of itself is what protobuf's own compiler makes of these services.
func TestTargetReflection(t *testing.T) {
	_, c, _ := begin(t, target.Options{})
	call, err := reflection.NewServerReflectionClient(c).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(q *reflection.ServerReflectionRequest) *reflection.ServerReflectionResponse {
		if err := call.Send(q); err != nil {
			t.Fatal(err)
		}
		r, err := call.Recv()
		if err != nil || !proto.Equal(r.OriginalRequest, q) {
			t.Fatalf("%v, %v", r, err)
		}
		return r
	}
	list := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_ListServices{}}).GetListServicesResponse()
	if len(list.GetService()) != 2 || list.Service[0].Name != "takt.Target" {
		t.Fatal(list)
	}
	for _, symbol := range []string{"takt.Target", "takt.Target.BidiStream", "takt.Message", "grpc.health.v1.Health", "grpc.health.v1.HealthCheckResponse.ServingStatus"} {
		r := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol}})
		for _, b := range r.GetFileDescriptorResponse().GetFileDescriptorProto() {
			var d descriptorpb.FileDescriptorProto
			if err := proto.Unmarshal(b, &d); err != nil {
				t.Fatal(err)
			}
			f, err := protodesc.NewFile(&d, new(protoregistry.Files))
			if err != nil {
				t.Fatal(err)
			}
			again := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileByFilename{FileByFilename: f.Path()}})
			if !bytes.Equal(again.GetFileDescriptorResponse().GetFileDescriptorProto()[0], b) {
				t.Errorf("another file by the name %s", f.Path())
			}
			if f.Path() == "takt/target.proto" {
				m := f.Services().ByName("Target").Methods().ByName("BidiStream")
				if !m.IsStreamingClient() || !m.IsStreamingServer() || m.Input().Fields().ByNumber(1).Kind() != protoreflect.BytesKind {
					t.Error(m)
				}
			} else if v := f.Messages().ByName("HealthCheckResponse").Enums().Get(0).Values().ByNumber(1); v.Name() != "SERVING" {
				t.Error(v)
			}
		}
		if r.GetFileDescriptorResponse() == nil {
			t.Errorf("%s: %v", symbol, r)
		}
	}
	r := ask(&reflection.ServerReflectionRequest{MessageRequest: &reflection.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "x"}})
	if r.GetErrorResponse().GetErrorCode() != int32(codes.NotFound) {
		t.Error(r)
	}
	_ = call.CloseSend()
	if _, err := call.Recv(); err != io.EOF {
		t.Error(err)
	}
	old, err := reflectionalpha.NewServerReflectionClient(c).ServerReflectionInfo(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Send(&reflectionalpha.ServerReflectionRequest{MessageRequest: &reflectionalpha.ServerReflectionRequest_ListServices{}}); err != nil {
		t.Fatal(err)
	}
	if r, err := old.Recv(); err != nil || len(r.GetListServicesResponse().GetService()) != 2 {
		t.Error(r, err)
	}
}
