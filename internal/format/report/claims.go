package report

import (
	"github.com/taktload/takt/internal/format/part"
	"github.com/taktload/takt/internal/judge/claims"
	"github.com/taktload/takt/internal/judge/proof"
	"github.com/taktload/takt/pkg/takt"
)

// Claims are those of a report: that which it has, or those of a run that was never judged, such as a recovered one.
func Claims(r *takt.Report) []takt.Claim {
	if r.Claims != nil {
		return r.Claims
	}
	return claims.Of(r)
}

// ClaimWords are the claims as two sentences at most; "": there is none.
func ClaimWords(r *takt.Report) (words string) {
	lead := map[bool]string{true: "The run supports: ", false: "Unknown: "}
	last := false
	for i, c := range Claims(r) {
		switch {
		case i > 0 && c.Supported == last:
			words += "; "
		case i > 0:
			words += ". "
			fallthrough
		default:
			words += lead[c.Supported]
		}
		words, last = words+claim(c), c.Supported
	}
	return words
}

// claim is a claim with its level.
func claim(c takt.Claim) string {
	if c.Level > 0 {
		return c.Text + " (" + proof.Words(c.Level) + ")"
	}
	return c.Text
}

// claimsPart has the claims: first what the run supports.
func claimsPart(r *takt.Report, in part.Outputs) part.Part {
	var list []part.Sentence
	for _, c := range Claims(r) {
		s := part.Sentence{Text: claim(c), Mark: "+ "}
		if !c.Supported {
			s.Text = "unknown: " + s.Text
		}
		if in != part.Text || !c.Supported {
			s.Mark = "- "
		}
		list = append(list, s)
	}
	if list == nil {
		return part.Part{}
	}
	return part.Part{ID: "claims", Title: "What the run supports", Blocks: []part.Block{{In: in, Title: "what this run supports, as the target behaved meanwhile", Bold: true, Below: list}}}
}
