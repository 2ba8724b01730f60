package grpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/taktload/takt/internal/pause"
)

// asker makes calls beside those of the run: it asks the server what it has, and whether it is ready.
type asker struct {
	o      *Options
	client *nethttp.Transport
}

func (o *Options) newAsker() *asker { return &asker{o, o.conn.Transport()} }

func (a *asker) close() { a.client.CloseIdleConnections() }

// call sends one message and returns the first one of the answer.
func (a *asker) call(ctx context.Context, path string, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, a.o.conn.Timeout)
	defer cancel()
	u := *a.o.url
	u.Path, u.RawPath = path, ""
	q, err := nethttp.NewRequestWithContext(ctx, "POST", u.String(), bytes.NewReader(appendMessage(nil, message, false)))
	if err != nil {
		return nil, err
	}
	for _, f := range a.o.message.Header {
		switch {
		case f.Name == "grpc-timeout" || f.Name == "grpc-encoding":
		default:
			q.Header.Set(f.Name, f.Value)
		}
	}
	q.Host = a.o.message.Host
	resp, err := a.client.RoundTrip(q)
	if err != nil {
		return nil, unreached(ctx, err)
	}
	defer resp.Body.Close()
	return readAnswer(resp)
}

// unreachable is why a server did not answer.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return "cannot reach the target: " + u.err.Error() }

// unreached is the error of a request without an answer. What net/http says of servers of other protocols differs.
func unreached(ctx context.Context, err error) error {
	var dial *net.OpError
	var name *net.DNSError
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		err = errors.New("no answer within the time of -t; does the server hang?")
	case ctx.Err() == nil && !(errors.As(err, &dial) && dial.Op == "dial") && !errors.As(err, &name) && !strings.Contains(err.Error(), "tls: "):
		err = errProtocol
	}
	return &unreachable{err}
}

// readAnswer is the message of an answer, or its status as an error.
func readAnswer(resp *nethttp.Response) ([]byte, error) {
	if resp.StatusCode != 200 {
		return nil, fmt.Errorf("the server answers with status %d of HTTP", resp.StatusCode)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, mostDescriptors))
	if err != nil {
		return nil, err
	}
	s := &status{code: noCode}
	for _, h := range []nethttp.Header{resp.Trailer, resp.Header} { // trailers alone come as the head
		if v := h.Get("grpc-status"); v != "" && s.code == noCode {
			if s.code, err = codeOf([]byte(v)); err != nil {
				return nil, err
			}
			s.message = []byte(h.Get("grpc-message"))
		}
	}
	switch {
	case s.code > 0:
		return nil, s
	case s.code == noCode:
		return nil, errNoStatus
	case len(b) < prefix:
		return nil, errNone
	}
	f := frames{most: mostDescriptors, coding: codingOf([]byte(resp.Header.Get("grpc-encoding"))), keeps: true}
	if _, ended, err := f.next(b); err != nil {
		return nil, err
	} else if !ended {
		return nil, errUnfinished
	}
	return f.kept, nil
}

// The services of reflection, the newest first.
var reflections = []string{"grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"}

// Fields of reflection's messages.
const (
	askFile     = 3 // file_by_filename
	askSymbol   = 4 // file_containing_symbol
	askList     = 7 // list_services
	toldFiles   = 4 // file_descriptor_response
	toldList    = 6 // list_services_response
	toldFailure = 7 // error_response
)

// reflection asks one server for descriptors.
type reflection struct {
	asker *asker
	path  string
	set   map[string]*descriptorpb.FileDescriptorProto
	order []string
	size  int
}

// mostFiles is the largest number of files that a server may have.
const mostFiles = 10_000

// reflectMost is how long a server may take to describe a method.
const reflectMost = time.Minute

// reflect asks the server for the method.
func (o *Options) reflect(ctx context.Context, a *asker) (*method, error) {
	ctx, cancel := context.WithTimeout(ctx, reflectMost)
	defer cancel()
	var r *reflection
	var err error
	for _, service := range reflections {
		r = &reflection{asker: a, path: "/" + service + "/ServerReflectionInfo", set: map[string]*descriptorpb.FileDescriptorProto{}}
		err = r.load(ctx, o.service)
		var s *status
		if !errors.As(err, &s) || s.code != codeUnimplemented {
			break
		}
	}
	var s *status
	if errors.As(err, &s) && s.code == codeUnimplemented {
		return nil, errors.New("the server has no reflection, by which takt would learn the method's messages; give them with --proto or --protoset, or send bytes with --raw")
	}
	var unreached *unreachable
	var none *noService
	switch {
	case errors.As(err, &unreached):
		return nil, unreached
	case errors.As(err, &none):
		return nil, none
	case err != nil:
		return nil, fmt.Errorf("cannot learn the method from the server's reflection: %w; check the address, or give --proto or --protoset", err)
	}
	all, err := r.files()
	if err != nil {
		return nil, fmt.Errorf("the descriptions of the server's reflection cannot be used: %s; give --proto or --protoset", clean(err))
	}
	return resolve(all, o.service, o.name)
}

// load gets the file of a service and all that it imports.
func (r *reflection) load(ctx context.Context, service string) error {
	if err := r.ask(ctx, askSymbol, service); err != nil {
		var refused *notFound
		if errors.As(err, &refused) {
			if names, e := r.services(ctx); e == nil {
				return &noService{service, names}
			}
		}
		return err
	}
	for i := 0; i < len(r.order); i++ { // asking adds others
		for _, name := range r.set[r.order[i]].GetDependency() {
			if r.set[name] != nil {
				continue
			}
			if f, err := protoregistry.GlobalFiles.FindFileByPath(name); err == nil {
				r.add(protodesc.ToFileDescriptorProto(f)) // of google.protobuf, which some servers leave out
				continue
			}
			if err := r.ask(ctx, askFile, name); err != nil {
				return fmt.Errorf("file %s: %w", quoted(name), err)
			}
			if r.set[name] == nil {
				return fmt.Errorf("the server has no file %s, which %s imports", quoted(name), quoted(r.order[i]))
			}
		}
	}
	return nil
}

// noService is the failure of a service that is not among those that there are.
type noService struct {
	name  string
	names []string
}

// Error names those of users first.
func (n *noService) Error() string {
	for _, name := range n.names {
		if strings.HasPrefix(name, n.name+".") && !strings.HasPrefix(name, "grpc.") {
			return fmt.Sprintf("there is no service %s, but there is %s; write HOST:PORT/%s/METHOD", quoted(n.name), quoted(name), name)
		}
	}
	names := slices.Clone(n.names)
	slices.SortStableFunc(names, func(a, b string) int {
		return cmp.Compare(len(a)-len(strings.TrimPrefix(a, "grpc.")), len(b)-len(strings.TrimPrefix(b, "grpc.")))
	})
	return fmt.Sprintf("there is no service %s; %s", quoted(n.name), known("services are", names))
}

// notFound is what the server says of a name that it does not know.
type notFound struct{ text string }

func (n *notFound) Error() string { return "the server says " + quoted(n.text) }

// request is one of reflection's.
func request(field protowire.Number, name string) []byte {
	return protowire.AppendString(protowire.AppendTag(nil, field, protowire.BytesType), name)
}

// ask adds the files of one answer.
func (r *reflection) ask(ctx context.Context, field protowire.Number, name string) error {
	answer, err := r.asker.call(ctx, r.path, request(field, name))
	if err != nil {
		return err
	}
	return r.read(answer)
}

// read takes the files of an answer.
func (r *reflection) read(answer []byte) error {
	for _, failure := range fieldsOf(answer, toldFailure) {
		var text string
		for _, t := range fieldsOf(failure, 2) {
			text = string(t)
		}
		return &notFound{text}
	}
	got := false
	for _, list := range fieldsOf(answer, toldFiles) {
		for _, b := range fieldsOf(list, 1) {
			f := new(descriptorpb.FileDescriptorProto)
			if err := proto.Unmarshal(b, f); err != nil {
				return fmt.Errorf("a file descriptor cannot be read: %s", clean(err))
			}
			if r.size += len(b); r.size > mostDescriptors || len(r.order) >= mostFiles {
				return fmt.Errorf("the descriptors are longer than %d MiB, or in more than %d files", mostDescriptors>>20, mostFiles)
			}
			r.add(f)
			got = true
		}
	}
	if !got {
		return errors.New("the answer has no file descriptor")
	}
	return nil
}

func (r *reflection) add(f *descriptorpb.FileDescriptorProto) {
	if r.set[f.GetName()] == nil {
		r.set[f.GetName()] = f
		r.order = append(r.order, f.GetName())
	}
}

// services are those that the server has.
func (r *reflection) services(ctx context.Context) (names []string, err error) {
	answer, err := r.asker.call(ctx, r.path, request(askList, "*"))
	if err != nil {
		return nil, err
	}
	for _, list := range fieldsOf(answer, toldList) {
		for _, s := range fieldsOf(list, 1) {
			for _, name := range fieldsOf(s, 1) {
				names = append(names, string(name))
			}
		}
	}
	return names, nil
}

// files are all that were got.
func (r *reflection) files() (*protoregistry.Files, error) {
	set := new(descriptorpb.FileDescriptorSet)
	for _, name := range r.order {
		set.File = append(set.File, r.set[name])
	}
	return link(set)
}

// healthPath is the method by which servers say whether they are ready.
const healthPath = "/grpc.health.v1.Health/Check"

// between is the time between two questions whether the server is ready.
const between = 100 * time.Millisecond

// serving is the status of a server that is ready.
const serving = 1

// awaitReady waits until the server's health service says that the service is ready, or until the time of --wait-ready.
// A server without that service, or one that does not know the service, is asked about itself.
func (o *Options) awaitReady(ctx context.Context, a *asker) error {
	until := time.Now().Add(o.WaitReady)
	for name := o.service; ; {
		state, err := a.health(ctx, name)
		var s *status
		switch {
		case err == nil && state == serving:
			return nil
		case errors.As(err, &s) && s.code == codeUnimplemented:
			return errors.New("--wait-ready is given, and the server has no health service (grpc.health.v1.Health); leave it out")
		case errors.As(err, &s) && classOf(s.code) == "not_found" && name != "":
			name = ""
			continue
		case err == nil:
			err = fmt.Errorf("its health service says %s", healthName(state))
		}
		if time.Now().After(until) || !pause.For(between, ctx.Done()) {
			return fmt.Errorf("the server was not ready within %v of --wait-ready: %w", o.WaitReady, err)
		}
	}
}

// health is what the server says of a service, or of itself: "".
func (a *asker) health(ctx context.Context, service string) (state uint64, err error) {
	b, err := a.call(ctx, healthPath, request(1, service))
	if err != nil {
		return 0, err
	}
	for len(b) > 0 {
		n, kind, used := protowire.ConsumeTag(b)
		if used < 0 {
			break
		}
		b = b[used:]
		if n == 1 && kind == protowire.VarintType {
			state, _ = protowire.ConsumeVarint(b)
		}
		if used = protowire.ConsumeFieldValue(n, kind, b); used < 0 {
			break
		}
		b = b[used:]
	}
	return state, nil
}

func healthName(state uint64) string {
	if names := []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}; state < uint64(len(names)) {
		return names[state]
	}
	return fmt.Sprintf("state %d", state)
}
