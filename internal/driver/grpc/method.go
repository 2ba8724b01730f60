package grpc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/parser"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/taktload/takt/internal/files"
	"github.com/taktload/takt/internal/foreign"
	"github.com/taktload/takt/internal/value"
)

// The values of --streams.
const (
	streamsNone   = "none"
	streamsServer = "server"
	streamsClient = "client"
	streamsBoth   = "both"
)

// method is what is called.
type method struct {
	service, name  string
	in             protoreflect.MessageDescriptor // nil: not known, see Options.Raw
	out            protoreflect.MessageDescriptor // as in
	types          *dynamicpb.Types               // of messages within google.protobuf.Any
	client, server bool                           // they send streams
}

// path is that of requests.
func (m *method) path() string { return "/" + m.service + "/" + m.name }

// streams says who sends streams.
func (m *method) streams() string {
	switch {
	case m.client && m.server:
		return streamsBoth
	case m.client:
		return streamsClient
	case m.server:
		return streamsServer
	}
	return streamsNone
}

// parseMethod reads the path of the target: /package.Service/Method, or also package.Service.Method.
func parseMethod(path string) (service, name string, err error) {
	p := strings.Trim(path, "/")
	service, name, found := strings.Cut(p, "/")
	if dot := strings.LastIndexByte(p, '.'); !found && dot > 0 {
		service, name, found = p[:dot], p[dot+1:], true
	}
	if !found || service == "" || name == "" || strings.Contains(name, "/") {
		return "", "", value.Faultf("the target has the path %q, and no method; write HOST:PORT/package.Service/Method", path)
	}
	return service, name, nil
}

// resolve finds the method in files.
func resolve(all *protoregistry.Files, service, name string) (*method, error) {
	d, err := all.FindDescriptorByName(protoreflect.FullName(service))
	s, is := d.(protoreflect.ServiceDescriptor)
	if err != nil || !is {
		return nil, &noService{service, servicesOf(all)}
	}
	m := s.Methods().ByName(protoreflect.Name(name))
	if m == nil {
		var names []string
		for i := range s.Methods().Len() {
			names = append(names, string(s.Methods().Get(i).Name()))
		}
		return nil, fmt.Errorf("the service %s has no method %s; %s", service, quoted(name), known("its methods are", names))
	}
	return &method{service, name, m.Input(), m.Output(), dynamicpb.NewTypes(all), m.IsStreamingClient(), m.IsStreamingServer()}, nil
}

func servicesOf(all *protoregistry.Files) (names []string) {
	all.RangeFiles(func(f protoreflect.FileDescriptor) bool {
		for i := range f.Services().Len() {
			names = append(names, string(f.Services().Get(i).FullName()))
		}
		return true
	})
	slices.Sort(names)
	return names
}

// known lists names for an error.
func known(what string, names []string) string {
	if len(names) == 0 {
		return "there are none; check the files, or the server"
	}
	return what + " " + list(names)
}

// list are names for an error, the first ten of them.
func list(names []string) string {
	const most = 10
	more := ""
	if len(names) > most {
		names, more = names[:most], ", …"
	}
	return foreign.Line(strings.Join(names, ", ")) + more
}

// readProto compiles files of --proto.
func readProto(names, paths []string) (*protoregistry.Files, error) {
	folders := append(slices.Clone(paths), "")
	for _, name := range names {
		folders = append(folders, filepath.Dir(name))
	}
	compiler := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protoReader{folders: folders, left: mostDescriptors}),
		MaxParallelism: 1,
	}
	compiled, err := compiler.Compile(context.Background(), names...)
	if err != nil {
		return nil, value.Faultf("cannot compile the files of --proto: %s; takt looks for files in the folders of --import-path, in the working directory, and beside the files of --proto", clean(err))
	}
	all := new(protoregistry.Files)
	for _, f := range compiled {
		if err := register(all, f); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// openProto opens a file in the first folder that has it.
func openProto(folders []string, path string) (f io.ReadCloser, err error) {
	for _, folder := range folders {
		name := filepath.Join(folder, path)
		if filepath.IsAbs(path) {
			name = path
		}
		if f, err = files.Open(name); !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
}

// protoReader bounds what a stranger's .proto files cost: a MiB of braces within braces took 2 GiB of the parser's stack.
type protoReader struct {
	folders []string // where they are looked for, in this order

	mu    sync.Mutex
	left  int // bytes of further files
	costs costs
}

const (
	mostDepth = 10_000   // how deep brackets of a .proto file may stand within others, also in comments
	mostLine  = 64 << 10 // bytes of a line: the parser counts to each place in its line, so 2 MiB on one took 200 s
)

// FindFileByPath implements protocompile.Resolver.
func (p *protoReader) FindFileByPath(path string) (found protocompile.SearchResult, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b, err := p.read(path)
	if err != nil {
		return found, err
	}
	found.Source = bytes.NewReader(b) // of a file with a fault, which the compiler finds again
	h := reporter.NewHandler(nil)
	if tree, err := parser.Parse(path, bytes.NewReader(b), h); err == nil {
		if r, err := parser.ResultFromAST(tree, true, h); err == nil {
			return protocompile.SearchResult{ParseResult: r}, p.costs.add(r.FileDescriptorProto())
		}
	}
	return found, nil
}

// read is the text of a file.
func (p *protoReader) read(path string) ([]byte, error) {
	f, err := openProto(p.folders, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, int64(p.left)+1))
	switch p.left -= len(b); {
	case err != nil:
		return nil, err
	case p.left < 0:
		return nil, fmt.Errorf("%s: the files are longer than %d MiB together", path, mostDescriptors>>20)
	case isDeep(b):
		return nil, fmt.Errorf("%s: more than %d brackets are open at once", path, mostDepth)
	case hasLong(b):
		return nil, fmt.Errorf("%s: a line is longer than %d KiB", path, mostLine>>10)
	}
	return b, nil
}

func hasLong(b []byte) bool {
	for line := range bytes.Lines(b) {
		if len(line) > mostLine {
			return true
		}
	}
	return false
}

func isDeep(b []byte) bool {
	depth := 0
	for _, c := range b {
		switch c {
		case '{', '[', '<', '(':
			if depth++; depth > mostDepth {
				return true
			}
		case '}', ']', '>', ')':
			depth = max(0, depth-1)
		}
	}
	return false
}

// register adds f and all that it imports to all.
func register(all *protoregistry.Files, f protoreflect.FileDescriptor) error {
	if _, err := all.FindFileByPath(f.Path()); err == nil || f.IsPlaceholder() {
		return nil
	}
	for i := range f.Imports().Len() {
		if err := register(all, f.Imports().Get(i).FileDescriptor); err != nil {
			return err
		}
	}
	return all.RegisterFile(f)
}

// mostDescriptors is the largest size of descriptors: a million fields are 18 MiB, and take 0.8 GiB of memory.
const mostDescriptors = 16 << 20

// readProtoset reads a file of --protoset.
func readProtoset(name string) (*protoregistry.Files, error) {
	f, err := files.Open(name)
	if err != nil {
		return nil, value.Faultf("cannot read the descriptor set: %w; check --protoset", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostDescriptors+1))
	if err == nil && len(b) > mostDescriptors {
		err = fmt.Errorf("it is longer than %d MiB", mostDescriptors>>20)
	}
	if err != nil {
		return nil, value.Faultf("cannot read the descriptor set: %w; check --protoset", err)
	}
	return parseSet(name, b)
}

// parseSet reads a descriptor set, which the file of that name has.
func parseSet(name string, b []byte) (*protoregistry.Files, error) {
	set := new(descriptorpb.FileDescriptorSet)
	if err := proto.Unmarshal(b, set); err != nil {
		return nil, value.Faultf("%s is no descriptor set; make one with protoc --include_imports --descriptor_set_out=%s", name, name)
	}
	all, err := link(set)
	if err != nil {
		return nil, value.Faultf("the descriptor set %s cannot be used: %s; make it with protoc --include_imports", name, clean(err))
	}
	return all, nil
}

// describe finds the method as far as the flags say it. known is false if the server has to say the rest.
func (o *Options) describe() (known bool, err error) {
	var all *protoregistry.Files
	switch {
	case len(o.Proto) > 0 && o.Protoset != "":
		return false, value.Faultf("both --proto and --protoset are given; keep one")
	case len(o.ImportPath) > 0 && len(o.Proto) == 0:
		return false, value.Faultf("--import-path is given without --proto; add that")
	case o.Streams != "" && !o.Raw:
		return false, value.Faultf("--streams is given without --raw; leave it out, the description of the method says it")
	case len(o.Proto) > 0:
		all, err = readProto(o.Proto, o.ImportPath)
	case o.Protoset != "":
		all, err = readProtoset(o.Protoset)
	case o.Raw:
		s := cmp.Or(o.Streams, streamsNone)
		o.method = &method{service: o.service, name: o.name, client: s == streamsClient || s == streamsBoth, server: s == streamsServer || s == streamsBoth}
		return true, nil
	default:
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m, err := resolve(all, o.service, o.name)
	if err == nil && o.Streams != "" && o.Streams != m.streams() {
		err = value.Faultf("--streams is %s, and by its description the method has %s; leave --streams out", o.Streams, m.streams())
	}
	if err != nil {
		return false, value.About(err, "proto", "protoset")
	}
	o.method = m
	return true, nil
}

// quoted is a text of others for an error.
func quoted(s string) string { return fmt.Sprintf("%q", foreign.Cut(foreign.Line(s), 80)) }

// mostFault is how much is shown of an error of protobuf, which may have names of any length.
const mostFault = 500

// clean is an error of protobuf without its no-break spaces, and on one line.
func clean(err error) string {
	var many interface{ Unwrap() []error }
	if errors.As(err, &many) && len(many.Unwrap()) > 0 {
		err = many.Unwrap()[0]
	}
	return foreign.Cut(foreign.Line(strings.ReplaceAll(strings.TrimPrefix(err.Error(), "proto:"), "\u00a0", " ")), mostFault)
}
