package kafka_test

import "testing"

import "github.com/taktload/takt/internal/driver/kafka/cluster"

func TestStamp(t *testing.T) {
	want := cluster.Stamp{Run: cluster.RunID{1, 2, 3}, Stream: 7, Number: 1 << 40, Due: 1_800_000_000_123_456_789, Token: 1<<63 + 5}
	b := make([]byte, cluster.StampBytes)
	want.Put(b)
	got, ok := cluster.ReadStamp(append(b, "rest"...))
	if !ok || got.Run != want.Run || got.Stream != want.Stream || got.Number != want.Number || got.Due != want.Due || got.Token != want.Token {
		t.Errorf("%+v %v, want %+v", got, ok, want)
	}
	for _, bad := range [][]byte{nil, b[:cluster.StampBytes-1], append([]byte("tkt2"), b[4:]...)} {
		if _, ok := cluster.ReadStamp(bad); ok {
			t.Errorf("%q was read", bad)
		}
	}
}
