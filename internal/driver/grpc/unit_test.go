package grpc

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/taktload/takt/internal/engine"
	"github.com/taktload/takt/internal/http2/wire"
	"github.com/taktload/takt/internal/test/grpctest"
	"github.com/taktload/takt/pkg/takt"
)

func TestTimeoutText(t *testing.T) {
	for d, want := range map[time.Duration]string{
		100 * time.Millisecond: "100m", time.Minute: "60000m", 1500 * time.Microsecond: "1500u", 7: "7n", 48 * time.Hour: "172800S",
		28 * time.Hour: "100800S", 48*time.Hour + 1: "172801S",
	} {
		if got := timeoutText(d); got != want || len(got) > 9 {
			t.Errorf("%v: got %s; want %s", d, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	fill := func(s string) (string, error) { return strings.ReplaceAll(s, "{{.Seq}}", "7"), nil }
	for input, want := range map[string][]string{
		"":                            nil,
		" \n":                         nil,
		`{"a":1}`:                     {`{"a":1}`},
		"{\"a\":1}\n\n{\"a\":2}\n":    {`{"a":1}`, `{"a":2}`},
		"{\n\"a\":1\n}\n{\"a\":2}":    {"{\n\"a\":1\n}", `{"a":2}`},
		`[{"a":1},{"a":2}]`:           {`{"a":1}`, `{"a":2}`},
		`[]`:                          nil,
		`{"a":{{.Seq}}}`:              {`{"a":{{.Seq}}}`},
		"{\"a\":{{.Seq}}}\n{\"a\":1}": {`{"a":{{.Seq}}}`, `{"a":1}`},
		"{\"a\":\n{{.Seq}}}":          {"{\"a\":\n{{.Seq}}}"},
		"{no json":                    {"{no json"},
	} {
		got, err := split(input, fill)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, %v; want %q", input, got, err, want)
		}
	}
}

func TestParseMethod(t *testing.T) {
	for path, want := range map[string]string{
		"/a.b.C/D": "a.b.C D", "/a.b.C.D": "a.b.C D", "/C/D": "C D", "/a.b.C/D/": "a.b.C D", "": "", "/": "", "/C": "", "/a/b/c": "", "/.C": "",
	} {
		service, name, err := parseMethod(path)
		if got := strings.TrimSpace(service + " " + name); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", path, got, err, want)
		}
	}
}

// Details are shown by their type and their texts, whatever bytes they are.
func TestDetails(t *testing.T) {
	field := func(b []byte, n protowire.Number, v []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
	}
	detail := field(field(nil, 1, []byte("type.googleapis.com/a.B")), 2, field(nil, 1, field(nil, 1, []byte("inner"))))
	whole := field(field(nil, 2, []byte("message")), 3, detail)
	for encoded, want := range map[string]string{
		base64.StdEncoding.EncodeToString(whole):    `a.B "inner"`,
		base64.RawStdEncoding.EncodeToString(whole): `a.B "inner"`,
		"": "", "!": "", base64.StdEncoding.EncodeToString([]byte{0xff, 0xff}): "",
	} {
		if got := readDetails([]byte(encoded)); got != want {
			t.Errorf("%s: got %q; want %q", encoded, got, want)
		}
	}
}

// Messages are the same in whatever pieces they come.
func FuzzFrames(f *testing.F) {
	zipped := grpctest.Zipped("ab")
	f.Add([]byte(grpctest.Message(0, 2, "ab")+grpctest.Message(0, 0, "")), uint8(1), false)
	f.Add([]byte(grpctest.Message(1, uint32(len(zipped)), zipped)), uint8(3), true)
	f.Add([]byte(grpctest.Message(0, 1<<31, "a")), uint8(0), false)
	f.Fuzz(func(t *testing.T, b []byte, step uint8, zip bool) {
		read := func(step int) (says string) {
			c := frames{most: 1000}
			if c.reset(); zip {
				c.coding = codingGzip
			}
			for rest := b; len(rest) > 0; {
				piece := rest[:min(len(rest), step)]
				rest = rest[len(piece):]
				for len(piece) > 0 {
					n, ended, err := c.next(piece)
					if err != nil {
						return says + err.Error()
					}
					if n <= 0 || n > len(piece) {
						t.Fatalf("%d of %d bytes", n, len(piece))
					}
					if ended {
						says += "."
					}
					piece = piece[n:]
				}
			}
			return says + fmt.Sprint(c.inside())
		}
		if whole, cut := read(len(b)+1), read(int(step)+1); whole != cut {
			t.Errorf("in one piece %q, in pieces of %d %q", whole, step+1, cut)
		}
	})
}

// Descriptions of strangers are refused or give methods, and cost little: .proto files, descriptor sets, answers of reflection.
func FuzzDescriptions(f *testing.F) {
	text, err := os.ReadFile("testdata/echo.proto")
	if err != nil {
		f.Fatal(err)
	}
	all, err := readProto([]string{"testdata/echo.proto"}, nil)
	if err != nil {
		f.Fatal(err)
	}
	d, err := all.FindFileByPath("testdata/echo.proto")
	if err != nil {
		f.Fatal(err)
	}
	set, err := proto.Marshal(&descriptorpb.FileDescriptorSet{File: []*descriptorpb.FileDescriptorProto{protodesc.ToFileDescriptorProto(d)}})
	if err != nil {
		f.Fatal(err)
	}
	told := protowire.AppendBytes(protowire.AppendTag(nil, toldFiles, protowire.BytesType), set) // both have the files as field 1
	f.Add(text, uint8(0))
	f.Add(set, uint8(1))
	f.Add(told, uint8(2))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, way uint8) {
		var all *protoregistry.Files
		var err error
		switch way % 3 {
		case 0:
			name := filepath.Join(dir, fmt.Sprint(os.Getpid(), ".proto"))
			if err := os.WriteFile(name, b, 0o600); err != nil {
				t.Fatal(err)
			}
			all, err = readProto([]string{name}, nil)
		case 1:
			all, err = parseSet("a.set", b)
		case 2:
			r := &reflection{set: map[string]*descriptorpb.FileDescriptorProto{}}
			if err = r.read(b); err == nil {
				all, err = r.files()
			}
		}
		if err != nil && strings.ContainsAny(err.Error(), "\x1b") {
			t.Errorf("%q", err)
		}
		if err == nil {
			for _, name := range servicesOf(all) {
				_, _ = resolve(all, name, "A") // does not fail
			}
		}
	})
}

// diamonds are files on n levels, two on each, which import both of the level below publicly.
func diamonds(n int) (list []*descriptorpb.FileDescriptorProto) {
	var below []string
	for i := range n {
		both := []string{fmt.Sprint("a", i), fmt.Sprint("b", i)}
		for _, name := range both {
			f := &descriptorpb.FileDescriptorProto{Name: proto.String(name), Syntax: proto.String("proto3"), Dependency: below}
			if i > 0 {
				f.PublicDependency = []int32{0, 1}
			}
			list = append(list, f)
		}
		below = both
	}
	return list
}

// What a stranger's files could cost is refused.
func TestHostileDescriptions(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	write("a.proto", `syntax = "proto3"; import "b.proto";`)
	write("b.proto", `syntax = "proto3"; import "a.proto";`)
	write("deep.proto", `syntax = "proto3"; option (a) = `+strings.Repeat("{a:", 500_000)+"1"+strings.Repeat("}", 500_000)+";")
	write("long.proto", `syntax = "proto3"; /*`+strings.Repeat("a", mostDescriptors)+"*/")
	write("line.proto", `syntax = "proto3"; message A { reserved "`+strings.Repeat("a", mostLine)+`";}`)
	names := `syntax = "proto3"; message ` + strings.Repeat("A", 60_000) + "{\n"
	for i := range 5000 {
		names += fmt.Sprintf("int32 a%d = %d;\n", i, i+1)
	}
	write("names.proto", names+"}")
	write("fault.proto", `syntax = "proto3"; message `+strings.Repeat("A", 60_000)+"{ B b = 1; }")
	for _, f := range diamonds(50) {
		text := `syntax = "proto3";`
		for _, name := range f.Dependency {
			text += fmt.Sprintf("import public %q;", name)
		}
		write(f.GetName(), text)
	}
	cheap := func(name, want string, read func() (*protoregistry.Files, error)) {
		peak := watchMemory()
		if _, err := read(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %.500v", name, err)
		} else if len(err.Error()) > 1000 {
			t.Errorf("%s: the error has %d bytes", name, len(err.Error()))
		}
		if grown := peak(); grown > 128<<20 {
			t.Errorf("%s: %d MiB", name, grown>>20)
		}
	}
	for name, want := range map[string]string{
		"a.proto": "cycle", "deep.proto": "brackets are open at once", "long.proto": "longer than 16 MiB together", "a49": "public imports",
		"line.proto": "a line is longer than 64 KiB", "names.proto": "full names are too long",
		"fault.proto": "cannot compile",
	} {
		cheap(name, want, func() (*protoregistry.Files, error) { return readProto([]string{name}, []string{dir}) })
	}
	one := func(f *descriptorpb.FileDescriptorProto) []*descriptorpb.FileDescriptorProto {
		f.Name = proto.String("a.proto")
		return []*descriptorpb.FileDescriptorProto{f}
	}
	deep := &descriptorpb.DescriptorProto{}
	for range 1000 {
		deep = &descriptorpb.DescriptorProto{Name: proto.String(strings.Repeat("a", 1000)), NestedType: []*descriptorpb.DescriptorProto{deep}}
	}
	wide := &descriptorpb.DescriptorProto{Name: proto.String(strings.Repeat("a", 100_000))}
	for range 10_000 {
		wide.Field = append(wide.Field, &descriptorpb.FieldDescriptorProto{Name: proto.String("a")})
	}
	for name, c := range map[string]struct {
		files []*descriptorpb.FileDescriptorProto
		want  string
	}{
		"messages within messages": {one(&descriptorpb.FileDescriptorProto{MessageType: []*descriptorpb.DescriptorProto{deep}}), "packages and messages"},
		"parts of a package":       {one(&descriptorpb.FileDescriptorProto{Package: proto.String(strings.Repeat("a.", 4<<20) + "a")}), "packages and messages"},
		"fields of a long name":    {one(&descriptorpb.FileDescriptorProto{MessageType: []*descriptorpb.DescriptorProto{wide}}), "full names are too long"},
		"public imports":           {diamonds(50), "public imports"},
	} {
		cheap(name, c.want, func() (*protoregistry.Files, error) { return link(&descriptorpb.FileDescriptorSet{File: c.files}) })
	}
	if _, err := readProtoset(write("long.set", strings.Repeat("a", mostDescriptors+1))); err == nil || !strings.Contains(err.Error(), "longer than 16 MiB") {
		t.Error(err)
	}
}

// Nothing that a server sends as a status or details makes its text fail.
func FuzzStatus(f *testing.F) {
	f.Add("5", "a%20b", "CAUSAWE=")
	f.Fuzz(func(t *testing.T, code, message, details string) {
		s := status{code: noCode, message: []byte(message), details: []byte(details)}
		if n, err := codeOf([]byte(code)); err == nil {
			s.code = n
		} else {
			s.code = codeUnknown
		}
		if text := s.Error(); strings.ContainsAny(text, "\n\x1b") || classOf(s.code) == "" && s.code != 0 {
			t.Errorf("%q", text)
		}
	})
}

// answers are the frames of a good answer on a stream.
func answers(dst []byte, id uint32) []byte {
	dst = wire.AppendNumber(dst, wire.Window, 0, 16) // for the request
	head := "\x88\x0f\x10\x10application/grpc"
	trailers := "\x00\x0bgrpc-status\x010"
	dst = append(wire.AppendHeader(dst, len(head), wire.Headers, wire.FlagEndHeaders, id), head...)
	dst = append(wire.AppendHeader(dst, 7, wire.Data, 0, id), 0, 0, 0, 0, 2, 0x0a, 0)
	return append(wire.AppendHeader(dst, len(trailers), wire.Headers, wire.FlagEndHeaders|wire.FlagEndStream, id), trailers...)
}

// calls makes n calls on a connection without a socket.
func calls(tb testing.TB, m takt.Mux, n int, in *[]byte, list *[]takt.MuxEvent, id *uint32, op *takt.Op, r *takt.Result) {
	for range n {
		r.Reset()
		m.Begin(op, 0, r)
		m.Sent(len(m.Out()))
		if p, ok := m.(engine.Parted); ok {
			p.Starts(0, 0, 0, r)
			p.Came(engine.Coming{At: 1, Record: func(int, time.Duration, time.Duration) {}})
		}
		*in = answers((*in)[:0], *id)
		*id += 2
		used, events, alive := m.Parse(*in, false, (*list)[:0])
		if *list = events; used != len(*in) || !alive || r.Class != "" {
			tb.Fatalf("%d of %d bytes, alive %v, %s %v", used, len(*in), alive, r.Class, r.Err)
		}
		op.Seq++
	}
}

func benched(tb testing.TB, change func(o *Options)) (m takt.Mux, in []byte) {
	o := with("\x0a\x03abc")
	o.Raw = true
	if change != nil {
		change(o)
	}
	e := engine.Defaults()
	e.Connections = 1
	o.Shape(&e)
	for _, err := range o.Validate([]string{"127.0.0.1:1/test.v1.Echo/Unary"}) {
		tb.Fatal(err)
	}
	r, err := o.newRun()
	if err != nil {
		tb.Fatal(err)
	}
	m = o.loopOf(r).Mux(0)
	settings := wire.AppendHeader(nil, 0, wire.Settings, 0, 0)
	if n, _, alive := m.Parse(settings, false, nil); n != len(settings) || !alive {
		tb.Fatal("no settings")
	}
	return m, bytes.Clone(settings)
}

// Workers have one call at a time on each connection, so what spreads calls over connections is refused.
func TestWorkersSpreadNothing(t *testing.T) {
	for engineMode, refused := range map[string]bool{"worker": true, "auto": false} {
		o, e := with(""), engine.Defaults()
		o.Raw, o.conn.HTTP2Streams, e.Engine = true, 5, engineMode
		o.Shape(&e)
		if faults := fmt.Sprint(o.Validate([]string{"127.0.0.1:1/a.B/C"})); strings.Contains(faults, "in workers") != refused {
			t.Errorf("%s: %s", engineMode, faults)
		}
	}
}

// A call allocates nothing, if its messages and metadata have no placeholders.
func TestCallsAllocateNothing(t *testing.T) {
	for name, change := range map[string]func(o *Options){
		"one message": nil,
		"in turn": func(o *Options) {
			o.Raw, o.Proto, o.conn.Body = false, []string{"testdata/echo.proto"}, `{"name":"a"} {"name":"b"}`
		},
		"a stream": func(o *Options) { o.Streams = streamsServer },
	} {
		m, in := benched(t, change)
		list, id, op, r := []takt.MuxEvent(nil), uint32(1), new(takt.Op), new(takt.Result)
		calls(t, m, 1000, &in, &list, &id, op, r)
		if n := testing.AllocsPerRun(1000, func() { calls(t, m, 1, &in, &list, &id, op, r) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for name, change := range map[string]func(o *Options){"unary": nil, "stream": func(o *Options) { o.Streams = streamsServer }} {
		b.Run(name, func(b *testing.B) {
			m, in := benched(b, change)
			list, id, op, r := []takt.MuxEvent(nil), uint32(1), new(takt.Op), new(takt.Result)
			calls(b, m, 1000, &in, &list, &id, op, r)
			b.ReportAllocs()
			b.ResetTimer()
			calls(b, m, b.N, &in, &list, &id, op, r)
		})
	}
}

// Servers that compress all answers, as grpcio can, compress those of reflection, too.
func TestReadAnswer(t *testing.T) {
	packed := grpctest.Zipped("abc")
	for body, want := range map[string]string{
		grpctest.Message(0, 3, "abc"):                                 "abc",
		grpctest.Message(1, uint32(len(packed)), packed):              "abc",
		grpctest.Message(1, uint32(len(packed)), packed[:8]):          "",
		grpctest.Message(1, 3, "abc"):                                 "",
		grpctest.Message(0, 4, "abc"):                                 "",
		grpctest.Message(0, 3, "abc") + grpctest.Message(0, 3, "def"): "abc",
		grpctest.Message(1, uint32(len(packed)), packed) + "trailing": "abc",
	} {
		head := nethttp.Header{"Grpc-Encoding": {"gzip"}, "Grpc-Status": {"0"}}
		got, err := readAnswer(&nethttp.Response{StatusCode: 200, Header: head, Body: io.NopCloser(strings.NewReader(body))})
		if string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", body, got, err, want)
		}
	}
}

// Files of --proto and their imports are found in the folders of --import-path, in the working directory, and beside the files.
func TestReadProto(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"a.proto":      `syntax = "proto3"; package a; import "b/b.proto"; import "c.proto"; service S { rpc M(b.X) returns (c.Y); }`,
		"in/b/b.proto": `syntax = "proto3"; package b; message X {}`,
		"c.proto":      `syntax = "proto3"; package c; message Y {}`,
	} {
		name = filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	full, in := filepath.Join(dir, "a.proto"), filepath.Join(dir, "in")
	if _, err := readProto([]string{full}, nil); err == nil || !strings.Contains(err.Error(), "open b/b.proto: file does not exist; takt looks for files in the folders of --import-path") {
		t.Error(err)
	}
	if _, err := readProto([]string{full}, []string{in}); err != nil {
		t.Error(err)
	}
	t.Chdir(dir)
	if _, err := readProto([]string{"a.proto"}, []string{"in"}); err != nil {
		t.Error(err)
	}
}
