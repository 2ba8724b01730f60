package payload

import (
	"bytes"
	"compress/gzip"
	"math"
	"strings"
	"testing"
)

func TestRandomLengths(t *testing.T) {
	r := NewRandom(1)
	for _, n := range []int{-1, 0, 1, 300, blockBytes - 1, blockBytes, blockBytes + 1, 3*blockBytes + 7} {
		got := r.Append([]byte("head"), n, 5)
		if want := len("head") + max(n, 0); len(got) != want || string(got[:4]) != "head" {
			t.Errorf("n %d: %d bytes, want %d", n, len(got), want)
		}
		if i := bytes.IndexFunc(got, func(c rune) bool { return !strings.ContainsRune(alphabet, c) }); i >= 0 {
			t.Errorf("n %d: byte %d is %q", n, i, got[i])
		}
	}
}

func TestRandomFollowsFromAtAndSeed(t *testing.T) {
	r := NewRandom(1)
	if a, b := r.Append(nil, 300, 7), NewRandom(1).Append(nil, 300, 7); !bytes.Equal(a, b) {
		t.Error("the same seed and number gave different bytes")
	}
	if a, b := r.Append(nil, 300, 7), NewRandom(2).Append(nil, 300, 7); bytes.Equal(a, b) {
		t.Error("another seed gave the same bytes")
	}
	long := r.Append(nil, 2*blockBytes, 7)
	if !bytes.Equal(long[:blockBytes], long[blockBytes:]) {
		t.Error("the text does not repeat after the block")
	}
}

// Every character is as frequent as every other.
func TestRandomIsUniform(t *testing.T) {
	counts := make([]int, len(alphabet))
	for _, c := range NewRandom(3).block {
		counts[strings.IndexByte(alphabet, c)]++
	}
	checkUniform(t, counts)
}

// checkUniform fails when chi-square is so high or low as it is once in a million
// cases: five standard deviations of its cube root, which is nearly normal (Wilson
// and Hilferty).
func checkUniform(t *testing.T, counts []int) {
	t.Helper()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	expected := float64(sum) / float64(len(counts))
	chi := 0.0
	for _, n := range counts {
		chi += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	free := float64(len(counts) - 1)
	if z := (math.Cbrt(chi/free) - 1 + 2/(9*free)) / math.Sqrt(2/(9*free)); math.Abs(z) > 5 {
		t.Errorf("chi-square %.1f with %v degrees of freedom: %v", chi, free, counts)
	}
}

// 2²⁰ operations in a row have different bodies, whatever their length.
func TestRandomOffsetsDiffer(t *testing.T) {
	for _, n := range []int{1, 2, 300, 1024, 64 << 10, blockBytes} {
		seen := make([]bool, blockBytes)
		for at := range uint64(blockBytes) {
			if off := offset(n, at); seen[off] {
				t.Fatalf("operation %d begins where an earlier one of %d B began", at, n)
			} else {
				seen[off] = true
			}
		}
	}
}

// Whatever their length, bodies overlap only after nearly 1 MiB of text.
func TestRandomBodiesDoNotOverlap(t *testing.T) {
	for n := 10; n < blockBytes; n += 1 + n/50 {
		for at := uint64(1); at < uint64(blockBytes/(n+1)); at++ {
			if d := int(offset(n, at)); min(d, blockBytes-d) < n {
				t.Fatalf("bodies of %d B overlap after %d operations", n, at)
			}
		}
	}
}

// For gzip bodies are as random as their alphabet: they do not overlap within
// its window. If they did, a compressed batch would be smaller than six bits a
// character.
func TestRandomDoesNotRepeatWithinWindow(t *testing.T) {
	for _, n := range []int{100, 300, 1024, 4096} {
		r := NewRandom(4)
		var text []byte
		for at := range uint64(blockBytes / 2 / n) {
			text = r.Append(text, n, at)
		}
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		w.Write(text)
		w.Close()
		if share := float64(packed.Len()) / float64(len(text)); share < 0.75 || share > 0.78 {
			t.Errorf("bodies of %d B compress to %.3f of their size, want 6/8", n, share)
		}
	}
}
