package shell

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxSubstitutions is how many definitions a line may use; one that uses itself would
// go on for ever.
const maxSubstitutions = 100

// maxWords bounds what a line expands to: definitions that each use another one twice
// double it with every level.
const maxWords = 10_000

// expand puts definitions in their place, gives every $ its word, and cuts the line
// into commands. Of a fault nothing is left to run.
func expand(line string, definitions map[string]string) (commands [][]string, err error) {
	typed, err := split(line)
	if err != nil {
		return nil, err
	}
	var all []word
	waiting := 0 // of the $ so far
	uses := 0
	for _, segment := range cut(typed) {
		words, err := substitute(segment, definitions, &uses)
		if err != nil {
			return nil, err
		}
		all = append(all, words...)
		all, waiting = interpolate(all, len(words))
		all = append(all, word{text: separator})
	}
	if waiting > 0 {
		return nil, fmt.Errorf("too many variables: %d of the %s have no word; give them at the end of the line", waiting, variable)
	}
	for _, segment := range cut(all) {
		commands = append(commands, texts(segment))
	}
	return commands, nil
}

// cut takes the words apart at the separators; what is empty vanishes.
func cut(words []word) (segments [][]word) {
	for len(words) > 0 {
		i := slices.IndexFunc(words, func(w word) bool { return w.is(separator) })
		if i < 0 {
			i = len(words)
		}
		if i > 0 {
			segments = append(segments, words[:i:i])
		}
		words = words[min(i+1, len(words)):]
	}
	return segments
}

// substitute replaces names by what they are defined as, the leftmost first, until none
// is left. What stands behind the command's own name was given to it.
func substitute(segment []word, definitions map[string]string, uses *int) ([]word, error) {
	words := slices.Clone(segment)
	for i := range words {
		words[i].given = i > 0
	}
	for i := 0; i < len(words); {
		text, ok := definitions[words[i].text]
		if !ok || words[i].quoted {
			i++
			continue
		}
		if *uses++; *uses >= maxSubstitutions || len(words) > maxWords {
			return nil, errors.New("too many substitutions (recursive definition?)")
		}
		in, err := split(text)
		if err != nil {
			return nil, fmt.Errorf("the definition of %s: %w", words[i].text, err)
		}
		for j := range in {
			in[j].given = words[i].given
		}
		words = slices.Replace(words, i, i+1, in...)
	}
	return words, nil
}

// interpolate gives every $ so far, in order, one of the last words of the line so far,
// if enough were given; last is how many words the command at its end has. It returns
// how many $ still wait for a later one.
func interpolate(all []word, last int) (left []word, waiting int) {
	places := []int{}
	for i, w := range all {
		if w.is(variable) {
			places = append(places, i)
		}
	}
	end := len(all)
	begin := end
	for begin > end-last+1 && begin > 0 && all[begin-1].given && !all[begin-1].is(variable) && !all[begin-1].is(separator) {
		begin--
	}
	if len(places) == 0 || end-begin < len(places) {
		return all, len(places)
	}
	values := all[end-len(places):]
	for i, at := range places {
		all[at] = word{text: values[i].text, quoted: true, given: true}
	}
	return all[:end-len(places)], 0
}

// isDefine reports whether the whole line is one define: what it defines is not
// expanded, and may have separators.
func isDefine(line string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return first == "define"
}
