package cluster

import "testing"

func TestStamp(t *testing.T) {
	want := Stamp{Run: RunID{1, 2, 3}, Stream: 7, Number: 1 << 40, Due: 1_800_000_000_123_456_789, Token: 1<<63 + 5}
	b := make([]byte, StampBytes)
	want.Put(b)
	got, ok := ReadStamp(append(b, "rest"...))
	if !ok || got.Run != want.Run || got.Stream != want.Stream || got.Number != want.Number || got.Due != want.Due || got.Token != want.Token {
		t.Errorf("%+v %v, want %+v", got, ok, want)
	}
	for _, bad := range [][]byte{nil, b[:StampBytes-1], append([]byte("tkt2"), b[4:]...)} {
		if _, ok := ReadStamp(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}
