package kafka

import "testing"

func TestStamp(t *testing.T) {
	want := stamp{run: runID{1, 2, 3}, stream: 7, number: 1 << 40, due: 1_800_000_000_123_456_789, token: 1<<63 + 5}
	b := make([]byte, stampBytes)
	want.put(b)
	got, ok := readStamp(append(b, "rest"...))
	if !ok || got.run != want.run || got.stream != want.stream || got.number != want.number || got.due != want.due || got.token != want.token {
		t.Errorf("%+v %v, want %+v", got, ok, want)
	}
	for _, bad := range [][]byte{nil, b[:stampBytes-1], append([]byte("tkt2"), b[4:]...)} {
		if _, ok := readStamp(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}
