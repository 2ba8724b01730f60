package payload

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// maxKey bounds the key of an HMAC.
const maxKey = 64 << 10

// hashes are the functions of {{hmac}}.
var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha512": sha512.New}

// makeHMAC makes the part of {{hmac …}}.
func makeHMAC(p *parser, args []token) (part, error) {
	by, rest, err := newHMAC(p, args)
	if err != nil {
		return nil, err
	}
	return makeEncoded(p, by, rest)
}

// newHMAC makes the encoder of {{hmac HASH "KEY FILE" X}}: the HMAC (RFC 2104) of X in hexadecimal digits, or in base64
// for HASH/base64. The key stands in a file, so no report, page or process list has it.
func newHMAC(p *parser, args []token) (by *encoder, rest []token, err error) {
	if len(args) < 3 || args[0].quoted || !args[1].quoted {
		return nil, nil, errArguments
	}
	name, coding, _ := strings.Cut(args[0].text, "/")
	sum := hashes[name]
	if sum == nil || coding != "" && coding != "base64" {
		return nil, nil, fmt.Errorf("%.30q is not a hash; write sha1, sha256 or sha512, or sha256/base64 for the result in base64", args[0].text)
	}
	f, err := p.env.open(args[1].text)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot open the key: %w; name a file with the key, which is then in no report", err)
	}
	defer f.Close()
	key, err := io.ReadAll(io.LimitReader(f, maxKey+1))
	key = bytes.TrimRight(key, "\r\n")
	switch {
	case err != nil:
		return nil, nil, fmt.Errorf("cannot read the key: %w", err)
	case len(key) == 0 || len(key) > maxKey:
		return nil, nil, fmt.Errorf("the key in %.60q has %d bytes or more; a key has 1 to %d", args[1].text, len(key), maxKey)
	}
	return &encoder{name: "hmac", least: 2 * sha512.Size, append: func(dst, src []byte) []byte {
		h := hmac.New(sum, key)
		h.Write(src)
		if coding != "" {
			return base64.StdEncoding.AppendEncode(dst, h.Sum(nil))
		}
		return hex.AppendEncode(dst, h.Sum(nil))
	}}, args[2:], nil
}
