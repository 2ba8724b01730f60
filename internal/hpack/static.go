package hpack

import "bytes"

// static is the static table (RFC 7541, appendix A). Fields with the same name are neighbours.
// Entry 0 does not exist.
var static = [...]struct{ name, value []byte }{
	{},
	{[]byte(":authority"), []byte("")},
	{[]byte(":method"), []byte("GET")},
	{[]byte(":method"), []byte("POST")},
	{[]byte(":path"), []byte("/")},
	{[]byte(":path"), []byte("/index.html")},
	{[]byte(":scheme"), []byte("http")},
	{[]byte(":scheme"), []byte("https")},
	{[]byte(":status"), []byte("200")},
	{[]byte(":status"), []byte("204")},
	{[]byte(":status"), []byte("206")},
	{[]byte(":status"), []byte("304")},
	{[]byte(":status"), []byte("400")},
	{[]byte(":status"), []byte("404")},
	{[]byte(":status"), []byte("500")},
	{[]byte("accept-charset"), []byte("")},
	{[]byte("accept-encoding"), []byte("gzip, deflate")},
	{[]byte("accept-language"), []byte("")},
	{[]byte("accept-ranges"), []byte("")},
	{[]byte("accept"), []byte("")},
	{[]byte("access-control-allow-origin"), []byte("")},
	{[]byte("age"), []byte("")},
	{[]byte("allow"), []byte("")},
	{[]byte("authorization"), []byte("")},
	{[]byte("cache-control"), []byte("")},
	{[]byte("content-disposition"), []byte("")},
	{[]byte("content-encoding"), []byte("")},
	{[]byte("content-language"), []byte("")},
	{[]byte("content-length"), []byte("")},
	{[]byte("content-location"), []byte("")},
	{[]byte("content-range"), []byte("")},
	{[]byte("content-type"), []byte("")},
	{[]byte("cookie"), []byte("")},
	{[]byte("date"), []byte("")},
	{[]byte("etag"), []byte("")},
	{[]byte("expect"), []byte("")},
	{[]byte("expires"), []byte("")},
	{[]byte("from"), []byte("")},
	{[]byte("host"), []byte("")},
	{[]byte("if-match"), []byte("")},
	{[]byte("if-modified-since"), []byte("")},
	{[]byte("if-none-match"), []byte("")},
	{[]byte("if-range"), []byte("")},
	{[]byte("if-unmodified-since"), []byte("")},
	{[]byte("last-modified"), []byte("")},
	{[]byte("link"), []byte("")},
	{[]byte("location"), []byte("")},
	{[]byte("max-forwards"), []byte("")},
	{[]byte("proxy-authenticate"), []byte("")},
	{[]byte("proxy-authorization"), []byte("")},
	{[]byte("range"), []byte("")},
	{[]byte("referer"), []byte("")},
	{[]byte("refresh"), []byte("")},
	{[]byte("retry-after"), []byte("")},
	{[]byte("server"), []byte("")},
	{[]byte("set-cookie"), []byte("")},
	{[]byte("strict-transport-security"), []byte("")},
	{[]byte("transfer-encoding"), []byte("")},
	{[]byte("user-agent"), []byte("")},
	{[]byte("vary"), []byte("")},
	{[]byte("via"), []byte("")},
	{[]byte("www-authenticate"), []byte("")},
}

// The sensitive names of the static table.
const (
	authorization      = 23
	cookie             = 32
	proxyAuthorization = 49
)

// isSensitive reports whether a field must not be in any table, where an attacker may guess it
// (RFC 7541, 7.1.3). Long cookies cannot be guessed. The rule is nghttp2's.
func isSensitive(name int, value []byte) bool {
	return name == authorization || name == proxyAuthorization || name == cookie && len(value) < 20
}

// names finds the first static entry of a name: a hash table with open addressing.
var names = hashNames()

const places = 128 // in names, for 52 names

func hashNames() (table [places]uint8) {
	for i := len(static) - 1; i > 0; i-- {
		if bytes.Equal(static[i].name, static[i-1].name) {
			continue
		}
		at := place(static[i].name)
		for table[at] != 0 {
			at = (at + 1) % places
		}
		table[at] = uint8(i)
	}
	return table
}

// place is where a name begins to be searched. The name is not empty.
func place(name []byte) uint {
	last := len(name) - 1
	return (uint(name[0])*5 + uint(name[last])*3 + uint(name[last/2])*9 + uint(last)) % places
}

// staticName returns the first static entry of the name, or 0.
func staticName(name []byte) int {
	if len(name) == 0 {
		return 0
	}
	for at := place(name); names[at] != 0; at = (at + 1) % places {
		if i := int(names[at]); bytes.Equal(static[i].name, name) {
			return i
		}
	}
	return 0
}

// staticField returns the static entry of the field, or 0. first is that of its name.
func staticField(first int, name, value []byte) int {
	for i := first; i < len(static) && bytes.Equal(static[i].name, name); i++ {
		if bytes.Equal(static[i].value, value) {
			return i
		}
	}
	return 0
}
