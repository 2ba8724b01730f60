package hpack

import (
	"io"
	"slices"
	"testing"

	peer "golang.org/x/net/http2/hpack"
)

// nginx is an answer of nginx 1.22.1. It adds what the static table has names for, and never uses
// the entries.
func nginx(tb testing.TB) []byte {
	return unhex(tb, "887689aa6355e580ae212e1f6196e4593e94136a693f75040138a099b8d3d702f298b46f5f87497ca589d34d1f5c01336c"+
		"97e4593e94136a693f75040138a099b8d3b71a7d4c5a37ff00832a47378afe5c8c0ebac8db599fe7008919085ad2b583aa62a3848fd24a8f")
}

// indexes is an answer whose fields are all in the dynamic table.
func indexes(d *Decoder, r *reader) []byte {
	e := NewEncoder()
	var block []byte
	for range 2 {
		block = block[:0]
		for _, f := range answerFields {
			block = e.Field(block, []byte(f.name), []byte(f.value), true)
		}
		d.Decode(block, func(_, _ []byte) {})
		r.decode(block)
	}
	return block
}

var answerFields = []pair{{":status", "200"}, {"server", "nginx/1.22.1"}, {"date", "Wed, 25 Nov 2026 23:48:18 GMT"},
	{"content-type", "text/html"}, {"content-length", "3"}, {"last-modified", "Wed, 25 Nov 2026 23:47:49 GMT"},
	{"etag", `"6b0773a5-3"`}, {"accept-ranges", "bytes"}}

func TestNginx(t *testing.T) {
	d := NewDecoder(4096, 1000)
	for range 100 { // the table is full after 14
		if fields, err := decode(d, nginx(t)); err != nil || !slices.Equal(fields, answerFields) {
			t.Fatalf("%q, %v; want %q", fields, err, answerFields)
		}
	}
}

// requestFields are those of a browser. Only the path is another one each time.
var requestFields = []pair{{":method", "GET"}, {":scheme", "https"}, {":authority", "www.example.com"},
	{":path", "/search?q=takt&page=17"}, {"user-agent", "takt/1.0"}, {"accept", "*/*"},
	{"accept-encoding", "gzip"}, {"x-request-origin", "load-test-of-november"}}

const changing = ":path"

func TestAllocs(t *testing.T) {
	d, sum := NewDecoder(4096, 1<<16), 0
	emit := func(name, value []byte) { sum += len(name) + len(value) }
	block := nginx(t)
	all := indexes(NewDecoder(4096, 1<<16), newReader(4096))
	e, fields, buf := NewEncoder(), asFields(requestFields), make([]byte, 0, 1024)
	invalid := []byte{0x80}
	for _, tt := range []struct {
		name string
		run  func()
	}{
		{"decode", func() { d.Decode(block, emit) }},
		{"decode an error", func() { d.Decode(all[:len(all)-1], emit); d.Decode(invalid, emit) }},
		{"encode", func() { buf = encode(e, buf[:0], fields) }},
		{"resize", func() { e.SetTableSize(100); e.SetTableSize(4096); buf = encode(e, buf[:0], fields) }},
	} {
		if n := testing.AllocsPerRun(100, tt.run); n != 0 {
			t.Errorf("%s: %v allocations", tt.name, n)
		}
	}
	if sum == 0 {
		t.Error("nothing was decoded")
	}
}

func asFields(pairs []pair) (fields []field) {
	for _, p := range pairs {
		fields = append(fields, field{[]byte(p.name), []byte(p.value)})
	}
	return fields
}

func encode(e *Encoder, dst []byte, fields []field) []byte {
	dst = e.Begin(dst)
	for i := range fields {
		f := &fields[i]
		dst = e.Field(dst, f.name, f.value, string(f.name) != changing)
	}
	return dst
}

func BenchmarkDecode(b *testing.B) {
	d, r := NewDecoder(4096, 1<<16), newReader(4096)
	for _, tt := range []struct {
		name  string
		block []byte
	}{{"nginx", nginx(b)}, {"indexed", indexes(d, r)}} {
		sum := 0
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := d.Decode(tt.block, func(name, value []byte) { sum += len(name) + len(value) }); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(tt.name+"/xnet", func(b *testing.B) {
			r.SetEmitFunc(func(f peer.HeaderField) { sum += len(f.Name) + len(f.Value) })
			b.ReportAllocs()
			for b.Loop() {
				if err := r.write(tt.block); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, tt := range []struct {
		name   string
		fields []pair
	}{{"request", requestFields}, {"indexed", append(slices.Clone(requestFields[:3]), requestFields[4:]...)}} {
		b.Run(tt.name, func(b *testing.B) {
			e, fields, buf := NewEncoder(), asFields(tt.fields), make([]byte, 0, 1024)
			b.ReportAllocs()
			for b.Loop() {
				buf = encode(e, buf[:0], fields)
			}
		})
		b.Run(tt.name+"/xnet", func(b *testing.B) {
			e := peer.NewEncoder(io.Discard)
			b.ReportAllocs()
			for b.Loop() {
				for _, f := range tt.fields {
					e.WriteField(peer.HeaderField{Name: f.name, Value: f.value})
				}
			}
		})
	}
}

func BenchmarkHuffman(b *testing.B) {
	const text = "Fri, 21 Nov 2025 14:25:00 GMT"
	code, dst := huffman.append(nil, []byte(text)), make([]byte, 100)
	b.Run("decode", func(b *testing.B) {
		for b.Loop() {
			if n, err := huffman.decode(dst, code); n != len(text) || err != nil {
				b.Fatal(n, err)
			}
		}
	})
	b.Run("encode", func(b *testing.B) {
		for b.Loop() {
			dst = huffman.append(dst[:0], []byte(text))
		}
	})
}
