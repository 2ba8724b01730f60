package replay

import (
	"testing"
	"time"
)

// The examples of Amazon S3's API Reference, "Signature Calculations for the
// Authorization Header: Transferring Payload in a Single Chunk".
func TestSignPublishedExamples(t *testing.T) {
	s := signer{Key: "AKIAIOSFODNN7EXAMPLE", Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", Region: "us-east-1"}
	day := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for _, c := range []struct {
		method, uri string
		header      [][2]string
		body        string
		signed, sum string
	}{
		{"GET", "/test.txt", [][2]string{{"Range", "bytes=0-9"}}, "",
			"host;range;x-amz-content-sha256;x-amz-date", "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"PUT", "/test$file.text", [][2]string{{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", " REDUCED_REDUNDANCY "}}, "Welcome to Amazon S3.",
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class", "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
		{"GET", "/?lifecycle", nil, "",
			"host;x-amz-content-sha256;x-amz-date", "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"},
		{"GET", "/?prefix=J&max-keys=2", nil, "",
			"host;x-amz-content-sha256;x-amz-date", "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"},
	} {
		got := s.Sign(signedRequest{Method: c.method, Host: "examplebucket.s3.amazonaws.com", URI: c.uri, Header: c.header, PayloadHash: payloadHash([]byte(c.body)), At: day})
		want := "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders=" + c.signed + ",Signature=" + c.sum
		if got.Authorization != want || got.Date != "20130524T000000Z" || c.body == "" && got.PayloadHash != empty {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.method, c.uri, got.Authorization, want)
		}
	}
}

// The canonical form is the same for all ways to write a URI, and the key changes
// with the day.
func TestSignIsCanonical(t *testing.T) {
	s := signer{Key: "k", Secret: "s", Region: "canada"}
	sign := func(uri string, at time.Time) string {
		return s.Sign(signedRequest{Method: "GET", Host: "h", URI: uri, PayloadHash: unsignedPayload, At: at}).Authorization
	}
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, same := range [][2]string{{"/a b", "/a%20b"}, {"/%7e", "/~"}, {"/x?b=2&a=1", "/x?a=1&b=2"}, {"/x?a=b+c", "/x?a=b%20c"}, {"/x?a", "/x?a="}, {"/x?", "/x"}, {"/100%", "/100%25"}} {
		if one, two := sign(same[0], day), sign(same[1], day); one != two {
			t.Errorf("%s: %s\n%s: %s", same[0], one, same[1], two)
		}
	}
	for _, other := range [][2]string{{"/a+b", "/a b"}, {"/a/b", "/a%2fb/"}, {"/x?a=1&a=2", "/x?a=1"}} {
		if sign(other[0], day) == sign(other[1], day) {
			t.Errorf("%s and %s are signed alike", other[0], other[1])
		}
	}
	first := sign("/", day)
	next := signer{Key: "k", Secret: "s", Region: "canada"}
	if second := sign("/", day.AddDate(0, 0, 1)); second == first || second != next.Sign(signedRequest{Method: "GET", Host: "h", URI: "/", PayloadHash: unsignedPayload, At: day.AddDate(0, 0, 1)}).Authorization {
		t.Error("the key is not that of the day")
	}
}
