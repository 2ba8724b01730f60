package llm

import (
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/taktload/takt/internal/value"
)

// Bounds of what takt makes.
const (
	mostWords  = 1_000_000 // of a text
	mostMade   = 1000      // prompts; they come in turn
	madeBytes  = 32 << 20  // of them together, and of all prefixes
	wordBytes  = 6         // of a word with its blank, about
	openWords  = 4         // at the beginning of a text, which no other one has
	openLength = 4         // bytes of each of them
)

// vocabulary are all words, and those that can be the first ones.
var vocabulary = sync.OnceValues(func() (all, first []string) {
	all = strings.Fields("time year people way day man thing woman life child world school state family student group country problem hand part place case week company system program question work number night point home water room mother area money story fact month lot right study book eye job word business issue side kind head house service friend father power hour game line end member law car city name team minute idea kid body back")
	for _, word := range all {
		if len(word) == openLength {
			first = append(first, word)
		}
	}
	return all, first
})

// writer makes texts of random words.
type writer struct {
	seed uint64
	rand *rand.Rand
}

func newWriter(seed, stream uint64) writer {
	return writer{seed, rand.New(rand.NewPCG(seed, stream))}
}

// words are n words, of which the first ones can be replaced by open.
func (w writer) words(n int) string {
	all, first := vocabulary()
	var b strings.Builder
	for i := range n {
		list := all
		if i < openWords {
			list = first
		}
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(list[w.rand.IntN(len(list))])
	}
	return b.String()
}

// open writes the first words of a text of so many words, which is at an offset of b. They differ between
// numbers, the first word most often, so that a server's cache of prefixes does not know a text that comes again.
func (w writer) open(b []byte, offset, words int, n uint64) {
	_, first := vocabulary()
	n += w.seed * 0x9e3779b97f4a7c15 >> 20
	for range min(words, openWords) {
		copy(b[offset:], first[n%uint64(len(first))])
		n /= uint64(len(first))
		offset += openLength + 1
	}
}

// checkPrefixes refuses prefixes without sense or bound.
func (o *Options) checkPrefixes() (faults value.Faults) {
	faults.If(o.PrefixTokens < 0 || o.PrefixTokens > mostWords, "--prefix-tokens is %d; give 1 to %d, or 0 for no prefix", o.PrefixTokens, mostWords)
	faults.If(o.Prefixes < 1, "--prefixes is %d; give a number above 0", o.Prefixes)
	faults.If(o.Prefixes > 1 && o.PrefixTokens == 0, "--prefixes is given without --prefix-tokens; add that")
	faults.If(o.Prefixes > 0 && o.PrefixTokens > 0 && o.PrefixTokens > madeBytes/wordBytes/o.Prefixes, "--prefixes %d of %d tokens have more than 32 MiB; give fewer or shorter ones", o.Prefixes, o.PrefixTokens)
	return faults
}

// made are scripts of random words.
func (o *Options) made() (list []script, err error) {
	w, size := newWriter(o.seed, 6), int64(0)
	for len(list) < mostMade {
		var s script
		for range o.turns.Draw(w.rand) {
			n := o.words.Draw(w.rand)
			switch size += n * wordBytes; {
			case size <= madeBytes || s.turns == nil && list == nil:
			case list == nil:
				return nil, value.Faultf("--turns %s and --prompt-tokens %s make conversations of more than 32 MiB; give fewer turns, or shorter ones", o.Turns, o.Words)
			default:
				return list, nil
			}
			q := o.asked(w.words(int(n)))
			if s.turns == nil {
				s.open, s.words = q.text, int(n)
			}
			s.turns = append(s.turns, q.json)
		}
		list = append(list, s)
	}
	return list, nil
}
