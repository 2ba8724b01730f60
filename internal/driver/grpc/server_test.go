package grpc

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // so that the server knows it
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	grpcreflection "google.golang.org/grpc/reflection"
	v1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	v1alpha "google.golang.org/grpc/reflection/grpc_reflection_v1alpha"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// echo is a server of testdata/echo.proto by grpc-go.
type echo struct {
	addr      string
	stop      func() // at once
	health    *health.Server
	ask, tell protoreflect.MessageDescriptor

	mu    sync.Mutex
	tally tally
	names []string // of all that was asked
	heads []metadata.MD
	ttl   []time.Duration // time until the deadline, of calls that have one
}

// tally is what a server has counted.
type tally struct{ calls, messages, answers, deadlines, tenants int }

// behaviour is what an echo has.
type behaviour struct {
	v1, v1alpha, health, tls bool
	age                      time.Duration // of connections; 0: no limit
}

func serveEcho(t *testing.T, b behaviour) *echo {
	t.Helper()
	all, err := readProto([]string{"testdata/echo.proto"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := all.FindDescriptorByName("test.v1.Echo")
	if err != nil {
		t.Fatal(err)
	}
	e := &echo{}
	service := d.(protoreflect.ServiceDescriptor)
	e.ask, e.tell = service.Methods().Get(0).Input(), service.Methods().Get(0).Output()
	options := []grpc.ServerOption{grpc.InTapHandle(e.tap)}
	if b.tls {
		s := httptest.NewUnstartedServer(nil)
		s.StartTLS()
		t.Cleanup(s.Close)
		options = append(options, grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: s.TLS.Certificates, NextProtos: []string{"h2"}})))
	}
	if b.age > 0 {
		options = append(options, grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionAge: b.age}))
	}
	s := grpc.NewServer(options...)
	s.RegisterService(e.desc(), e)
	o := grpcreflection.ServerOptions{Services: s, DescriptorResolver: both{all}}
	if b.v1 {
		v1.RegisterServerReflectionServer(s, grpcreflection.NewServerV1(o))
	}
	if b.v1alpha {
		v1alpha.RegisterServerReflectionServer(s, grpcreflection.NewServer(o))
	}
	if b.health {
		e.health = health.NewServer()
		healthpb.RegisterHealthServer(s, e.health)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	e.stop = sync.OnceFunc(func() { s.Stop(); <-done })
	t.Cleanup(e.stop)
	e.addr = l.Addr().String()
	return e
}

// both looks into the files of the test, and then into those of the process.
type both struct{ *protoregistry.Files }

func (b both) FindFileByPath(path string) (protoreflect.FileDescriptor, error) {
	if f, err := b.Files.FindFileByPath(path); err == nil {
		return f, nil
	}
	return protoregistry.GlobalFiles.FindFileByPath(path)
}

func (e *echo) target(method string) string { return e.addr + "/test.v1.Echo/" + method }

func (e *echo) desc() *grpc.ServiceDesc {
	stream := func(name string, handle func(grpc.ServerStream) error, server, client bool) grpc.StreamDesc {
		return grpc.StreamDesc{StreamName: name, ServerStreams: server, ClientStreams: client, Handler: func(_ any, s grpc.ServerStream) error { return handle(s) }}
	}
	return &grpc.ServiceDesc{
		ServiceName: "test.v1.Echo", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			m := dynamicpb.NewMessage(e.ask)
			if err := decode(m); err != nil {
				return nil, err
			}
			e.note(ctx, m)
			return e.answer(ctx, m, 1)
		}}},
		Streams: []grpc.StreamDesc{
			stream("Server", func(s grpc.ServerStream) error {
				m := dynamicpb.NewMessage(e.ask)
				if err := s.RecvMsg(m); err != nil {
					return err
				}
				e.note(s.Context(), m)
				for i := range e.number(m, "count") {
					a, err := e.answer(s.Context(), m, int(i+1))
					if err == nil {
						err = s.SendMsg(a)
					}
					if err != nil {
						return err
					}
				}
				return nil
			}, true, false),
			stream("Client", func(s grpc.ServerStream) error {
				last, n := dynamicpb.NewMessage(e.ask), 0
				for {
					m := dynamicpb.NewMessage(e.ask)
					if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						return err
					}
					e.note(s.Context(), m)
					last = m
					n++
				}
				a, err := e.answer(s.Context(), last, n)
				if err != nil {
					return err
				}
				return s.SendMsg(a)
			}, false, true),
			stream("Both", func(s grpc.ServerStream) error {
				for n := 1; ; n++ {
					m := dynamicpb.NewMessage(e.ask)
					if err := s.RecvMsg(m); errors.Is(err, io.EOF) {
						return nil
					} else if err != nil {
						return err
					}
					e.note(s.Context(), m)
					a, err := e.answer(s.Context(), m, n)
					if err == nil {
						err = s.SendMsg(a)
					}
					if err != nil {
						return err
					}
				}
			}, true, true),
		},
	}
}

func (e *echo) number(m *dynamicpb.Message, field string) int64 {
	f := e.ask.Fields().ByName(protoreflect.Name(field))
	if f.Kind() == protoreflect.Uint32Kind {
		return int64(m.Get(f).Uint())
	}
	return m.Get(f).Int()
}

func (e *echo) name(m *dynamicpb.Message) string {
	return m.Get(e.ask.Fields().ByName("name")).String()
}

// tap counts calls.
func (e *echo) tap(ctx context.Context, i *tap.Info) (context.Context, error) {
	if !strings.HasPrefix(i.FullMethodName, "/test.v1.Echo/") {
		return ctx, nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally.calls++
	if _, ok := ctx.Deadline(); ok {
		e.tally.deadlines++
	}
	if len(i.Header.Get("x-tenant")) > 0 {
		e.tally.tenants++
	}
	return ctx, nil
}

func (e *echo) note(ctx context.Context, m *dynamicpb.Message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.tally.messages++
	head, _ := metadata.FromIncomingContext(ctx)
	e.names, e.heads = append(e.names, e.name(m)), append(e.heads, head)
	if at, ok := ctx.Deadline(); ok {
		e.ttl = append(e.ttl, time.Until(at))
	}
}

func (e *echo) answer(ctx context.Context, m *dynamicpb.Message, n int) (*dynamicpb.Message, error) {
	if wait := e.number(m, "wait_ms"); wait > 0 {
		select {
		case <-time.After(time.Duration(wait) * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if code := e.number(m, "code"); code > 0 {
		s, err := grpcstatus.New(grpccodes.Code(code), "höher: 100 %\nnext").WithDetails(&errdetails.ErrorInfo{Reason: "FULL", Domain: "example.com"})
		if err != nil {
			return nil, err
		}
		return nil, s.Err()
	}
	a := dynamicpb.NewMessage(e.tell)
	name := e.name(m)
	if size := e.number(m, "size"); size > 0 {
		name = strings.Repeat("a", int(size))
	}
	a.Set(e.tell.Fields().ByName("name"), protoreflect.ValueOfString(name))
	a.Set(e.tell.Fields().ByName("number"), protoreflect.ValueOfInt32(int32(n)))
	e.mu.Lock()
	e.tally.answers++
	e.mu.Unlock()
	return a, nil
}
