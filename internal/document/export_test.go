package document

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
)

// PackBytes packs any bytes as the data of a page.
func PackBytes(all []byte) string {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(all) // into memory: cannot fail
	_ = z.Close()
	return base64.StdEncoding.EncodeToString(b.Bytes())
}
