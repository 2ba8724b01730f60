package payload

import (
	"bytes"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// everything has each placeholder that is a function of the operation's number.
const everything = `{{.Seq}} {{uuid}} {{randInt 1 100}} {{randString 16}} {{file "ids.txt"}} {{file "users.csv" 2}} {{uuid}}`

func TestUUIDForm(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	tmpl := parse(t, "{{uuid}}")
	for seq := range uint64(10_000) {
		if got := tmpl.Append(nil, seq); !form.Match(got) {
			t.Fatalf("operation %d: %s", seq, got)
		}
	}
}

// Two placeholders make 10⁶ uuids without a duplicate, and each of the 122 bits
// that are free is set in half of them.
func TestUUIDsDiffer(t *testing.T) {
	const n = 1_000_000
	tmpl := parse(t, "{{uuid}}{{uuid}}")
	seen := make(map[string]struct{}, n)
	var buf []byte
	var ones [128]int
	for seq := range uint64(n / 2) {
		buf = tmpl.Append(buf[:0], seq)
		seen[string(buf[:36])], seen[string(buf[36:])] = struct{}{}, struct{}{}
		countBits(t, &ones, buf[:36])
	}
	if len(seen) != n {
		t.Errorf("%d different uuids of %d", len(seen), n)
	}
	fixed := map[int]int{48: 0, 49: n / 2, 50: 0, 51: 0, 64: n / 2, 65: 0} // version 4, variant 10
	for bit, got := range ones {
		want, is := fixed[bit]
		if is && got != want || !is && math.Abs(float64(got)-n/4) > 5*math.Sqrt(n/8) {
			t.Errorf("bit %d is set in %d of %d uuids", bit, got, n/2)
		}
	}
}

func countBits(t *testing.T, ones *[128]int, uuid []byte) {
	bit := 0
	for _, c := range uuid {
		if c == '-' {
			continue
		}
		nibble, err := strconv.ParseUint(string(c), 16, 4)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			ones[bit+i] += int(nibble >> (3 - i) & 1)
		}
		bit += 4
	}
}

func TestRandIntRange(t *testing.T) {
	const low, high = math.MinInt64, math.MaxInt64
	tests := []struct{ first, last int64 }{
		{0, 1}, {1, 100}, {-3, 3}, {low, low + 6}, {high - 6, high}, {-1, 0},
		{low, high}, {low, -1}, {0, high}, {low + 1, high}, // count 2⁶⁴, 2⁶³, 2⁶³, 2⁶⁴-1
	}
	for _, tt := range tests {
		tmpl := parse(t, "{{randInt "+strconv.FormatInt(tt.first, 10)+" "+strconv.FormatInt(tt.last, 10)+"}}")
		const cells, draws = 7, 70_000
		counts := make([]int, min(uint64(tt.last)-uint64(tt.first), cells-1)+1)
		ends := map[int64]bool{}
		for seq := range uint64(draws) {
			n, err := strconv.ParseInt(string(tmpl.Append(nil, seq)), 10, 64)
			if err != nil || n < tt.first || n > tt.last {
				t.Fatalf("%+v: operation %d has %d, %v", tt, seq, n, err)
			}
			ends[n] = true
			counts[cell(n, tt.first, tt.last, len(counts))]++
		}
		if uint64(tt.last)-uint64(tt.first) <= 100 && !(ends[tt.first] && ends[tt.last]) {
			t.Errorf("%+v: an end was never drawn", tt)
		}
		checkChi(t, counts, tt.first, tt.last)
	}
}

// cell divides first to last into n cells of about the same size.
func cell(n, first, last int64, cells int) int {
	width := new(big.Int).Sub(big.NewInt(last), big.NewInt(first))
	width.Add(width, big.NewInt(1))
	at := new(big.Int).Sub(big.NewInt(n), big.NewInt(first))
	return int(at.Div(at.Mul(at, big.NewInt(int64(cells))), width).Int64())
}

// checkChi leaves out ranges that seven cells do not divide: their cells differ.
func checkChi(t *testing.T, counts []int, first, last int64) {
	t.Helper()
	span := uint64(last) - uint64(first)
	if span > 1<<32 || (span+1)%uint64(len(counts)) == 0 {
		checkUniform(t, counts)
	}
}

// Each of 100 numbers is as frequent as every other.
func TestRandIntIsUniform(t *testing.T) {
	tmpl := parse(t, "{{randInt 1 100}}")
	counts := make([]int, 100)
	for seq := range uint64(200_000) {
		n, _ := strconv.Atoi(string(tmpl.Append(nil, seq)))
		counts[n-1]++
	}
	checkUniform(t, counts)
}

// below is the exact quotient, also of large n, where 64 bits would be biased.
func TestBelow(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		n, high, low := r.Uint64()>>r.UintN(64), r.Uint64(), r.Uint64()
		x := new(big.Int).SetUint64(high)
		x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(low))
		x.Mul(x, new(big.Int).SetUint64(n)).Rsh(x, 128)
		if got := below(n, high, low); got != x.Uint64() {
			t.Fatalf("below(%d, %d, %d) = %d, want %d", n, high, low, got, x)
		}
	}
}

// Each letter is as frequent as every other at each of the eight places that one
// number makes, and strings differ.
func TestRandString(t *testing.T) {
	for word, letters := range map[string]string{"randString": letters, "randHex": hexDigits} {
		tmpl := parse(t, "{{"+word+" 17}}")
		counts := make([][]int, 17)
		for i := range counts {
			counts[i] = make([]int, len(letters))
		}
		seen := map[string]bool{}
		for seq := range uint64(50_000) {
			got := tmpl.Append(nil, seq)
			if len(got) != 17 || seen[string(got)] || bytes.Equal(got[:8], got[8:16]) {
				t.Fatalf("operation %d: %q", seq, got)
			}
			seen[string(got)] = true
			for i, c := range got {
				counts[i][strings.IndexByte(letters, c)]++
			}
		}
		for _, c := range counts {
			checkUniform(t, c)
		}
		for _, n := range []int{1, 7, 8, 9, maxRandString} {
			if got := len(parse(t, "{{"+word+" "+strconv.Itoa(n)+"}}").Append(nil, 5)); got != n {
				t.Errorf("%d letters, want %d", got, n)
			}
		}
	}
}

func TestSameRunSameValues(t *testing.T) {
	a, b := parse(t, everything), parse(t, everything)
	var inOrder [][]byte
	for seq := range uint64(100) {
		inOrder = append(inOrder, a.Append(nil, seq))
	}
	for seq := uint64(100); seq > 0; seq-- { // as other workers would take them
		if got := b.Append(nil, seq-1); !bytes.Equal(got, inOrder[seq-1]) {
			t.Errorf("operation %d: %q, then %q", seq-1, inOrder[seq-1], got)
		}
	}
}

// Seed, operation, template and place each change every random value. The words
// of everything that are random are 1, 3 and 6; words[2] has a hundred values.
func TestWhatValuesDependOn(t *testing.T) {
	words := func(seed uint64, name, text string, seq uint64) []string {
		tmpl, err := inMemory(seed).Parse(name, text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(tmpl.Append(nil, seq)))
	}
	base := words(1, "URL", everything, 0)
	if base[1] == base[6] {
		t.Error("two places have the same uuid")
	}
	for what, other := range map[string][]string{
		"seed": words(2, "URL", everything, 0), "template": words(1, "body", everything, 0),
		"operation": words(1, "URL", everything, 6), // 6: the same lines
		"place":     words(1, "URL", "{{now}}"+everything, 0),
	} {
		for _, i := range []int{1, 3, 6} {
			if base[i] == other[i] {
				t.Errorf("another %s, but word %d is still %s", what, i, base[i])
			}
		}
	}
	if spaced := words(1, "URL", `{{"x"}} `+everything+" tail", 0); spaced[2] != base[1] {
		t.Error("text between placeholders changed a value")
	}
}

// A template is random if another seed makes another text of it.
func TestRandom(t *testing.T) {
	for text, want := range map[string]bool{
		"text": false, "{{.Seq}}": false, `{{file "ids.txt"}}`: false, `{{"{{uuid}}"}}`: false,
		"{{uuid}}": true, "{{randInt 1 100}}": true, "{{randString 16}}": true, "{{randHex 16}}": true, everything: true,
	} {
		one := parse(t, text)
		two, err := inMemory(2).Parse("body", text)
		if err != nil {
			t.Fatal(err)
		}
		if one.Random() != want || bytes.Equal(one.Append(nil, 3), two.Append(nil, 3)) == want {
			t.Errorf("%s: random is %v, want %v", text, one.Random(), want)
		}
	}
}

// All feeders of an operation are at the same line, and every line has its turn.
func TestFeedersGoTogether(t *testing.T) {
	tmpl := parse(t, `{{file "users.csv"}}|{{file "users.csv" 1}}|{{file "users.csv"}}`)
	for seq, want := range []string{`ann,secret|ann|ann,secret`, `bob,"x,y"|bob|bob,"x,y"`, `ann,secret|ann|ann,secret`} {
		if got := string(tmpl.Append(nil, uint64(seq))); got != want {
			t.Errorf("operation %d: %s, want %s", seq, got, want)
		}
	}
}

// Neighbours, of operation or of placeholder, and the two words of one operation
// are as different as chance has it: in half of their bits.
func TestMixSpreads(t *testing.T) {
	sum := 0
	const n = 10_000
	for i := range n {
		d := newDraw(1, "URL", i)
		a, b := d.at(0)
		c, e := d.at(1)
		f, g := newDraw(1, "URL", i+1).at(0)
		sum += bits.OnesCount64(a^c) + bits.OnesCount64(b^e) + bits.OnesCount64(a^f) + bits.OnesCount64(b^g) + bits.OnesCount64(a^b)
	}
	if mean := float64(sum) / n / 5; math.Abs(mean-32) > 0.09 { // five deviations, of 4 ÷ √50 000
		t.Errorf("%v of 64 bits differ", mean)
	}
}
