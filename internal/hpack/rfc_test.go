package hpack

import (
	"encoding/hex"
	"slices"
	"strings"
	"testing"
)

// pair is a field as text.
type pair struct{ name, value string }

// field is a pair for the encoder.
type field struct{ name, value []byte }

// exchange is one block of an example, with its fields and the size of the table after it.
type exchange struct {
	block  string
	fields []pair
	size   int
}

// The examples of RFC 7541, appendix C.2 to C.6. C.4 and C.6 are C.3 and C.5 in Huffman code.
var examples = []struct {
	name   string
	table  int
	blocks []exchange
}{
	{"C.2.1", 4096, []exchange{{"400a637573746f6d2d6b65790d637573746f6d2d686561646572", []pair{{"custom-key", "custom-header"}}, 55}}},
	{"C.2.2", 4096, []exchange{{"040c2f73616d706c652f70617468", []pair{{":path", "/sample/path"}}, 0}}},
	{"C.2.3", 4096, []exchange{{"100870617373776f726406736563726574", []pair{{"password", "secret"}}, 0}}},
	{"C.2.4", 4096, []exchange{{"82", []pair{{":method", "GET"}}, 0}}},
	{"C.3", 4096, []exchange{
		{"828684410f7777772e6578616d706c652e636f6d", first, 57},
		{"828684be58086e6f2d6361636865", second, 110},
		{"828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565", third, 164},
	}},
	{"C.4", 4096, []exchange{
		{"828684418cf1e3c2e5f23a6ba0ab90f4ff", first, 57},
		{"828684be5886a8eb10649cbf", second, 110},
		{"828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf", third, 164},
	}},
	{"C.5", 256, []exchange{
		{"4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d54" +
			"6e1768747470733a2f2f7777772e6578616d706c652e636f6d", found, 222},
		{"4803333037c1c0bf", moved, 222},
		{"88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d" +
			"4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31", ok, 215},
	}},
	{"C.6", 256, []exchange{
		{"488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3", found, 222},
		{"4883640effc1c0bf", moved, 222},
		{"88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960" +
			"d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007", ok, 215},
	}},
}

var (
	first  = []pair{{":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "www.example.com"}}
	second = append(slices.Clone(first), pair{"cache-control", "no-cache"})
	third  = []pair{{":method", "GET"}, {":scheme", "https"}, {":path", "/index.html"}, {":authority", "www.example.com"}, {"custom-key", "custom-value"}}
	found  = answer("302", "private", "Mon, 21 Oct 2013 20:13:21 GMT")
	moved  = answer("307", "private", "Mon, 21 Oct 2013 20:13:21 GMT")
	ok     = append(answer("200", "private", "Mon, 21 Oct 2013 20:13:22 GMT"), pair{"content-encoding", "gzip"},
		pair{"set-cookie", "foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1"})
)

func answer(status, cache, date string) []pair {
	return []pair{{":status", status}, {"cache-control", cache}, {"date", date}, {"location", "https://www.example.com"}}
}

// decode returns the fields of a block.
func decode(d *Decoder, block []byte) (fields []pair, err error) {
	err = d.Decode(block, func(name, value []byte) { fields = append(fields, pair{string(name), string(value)}) })
	return fields, err
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestExamplesDecode(t *testing.T) {
	for _, tt := range examples {
		d := NewDecoder(tt.table, 1<<16)
		for i, x := range tt.blocks {
			fields, err := decode(d, unhex(t, x.block))
			if err != nil || !slices.Equal(fields, x.fields) || d.table.size != x.size {
				t.Errorf("%s, block %d: %q, %v, table of %d; want %q, %d", tt.name, i, fields, err, d.table.size, x.fields, x.size)
			}
		}
	}
}

// C.4 and C.6 use Huffman code, also where it is not shorter: for the status 307.
func TestExamplesEncode(t *testing.T) {
	for _, tt := range examples {
		if tt.name != "C.4" && tt.name != "C.6" {
			continue
		}
		e := NewEncoder()
		for i, x := range tt.blocks {
			var block []byte
			if i == 0 && tt.table != defaultTable {
				e.SetTableSize(uint32(tt.table))
				block = e.Begin(block)
				if got := hex.EncodeToString(block); got != "3fe101" { // 256
					t.Errorf("%s: size update %s", tt.name, got)
				}
				block = block[:0]
			}
			for _, f := range x.fields {
				block = e.Field(block, []byte(f.name), []byte(f.value), true)
			}
			want := strings.Replace(x.block, "83640eff", "03333037", 1)
			if got := hex.EncodeToString(block); got != want || e.table.size != x.size {
				t.Errorf("%s, block %d: %s, table of %d; want %s, %d", tt.name, i, got, e.table.size, want, x.size)
			}
		}
	}
}

func TestExamplesOfIntegers(t *testing.T) { // C.1
	for _, tt := range []struct {
		value uint64
		mask  byte
		text  string
	}{{10, 0x1f, "0a"}, {1337, 0x1f, "1f9a0a"}, {42, 0xff, "2a"}, {0, 0x0f, "00"}, {15, 0x0f, "0f00"}, {1<<63 - 1, 0x7f, "7f80ffffffffffffff7f"}} {
		if got := hex.EncodeToString(appendInt(nil, 0, tt.mask, tt.value)); got != tt.text {
			t.Errorf("%d: %s, want %s", tt.value, got, tt.text)
		}
		p := unhex(t, tt.text)
		if v, n := readInt(p, tt.mask); v != tt.value || n != len(p) {
			t.Errorf("%s: %d in %d bytes, want %d", tt.text, v, n, tt.value)
		}
		if _, n := readInt(p[:len(p)-1], tt.mask); n != 0 {
			t.Errorf("%s cut off: %d", tt.text, n)
		}
	}
	if _, n := readInt(unhex(t, "ff8080808080808080808000"), 0x7f); n >= 0 {
		t.Errorf("eleven bytes: %d", n)
	}
}
