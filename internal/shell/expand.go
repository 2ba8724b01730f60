package shell

import (
	"fmt"
	"slices"
	"strings"
)

// maxSubstitutions limits the substitutions of a line to one less, 99: definitions that
// use each other would never end.
const maxSubstitutions = 100

// maxWords limits the words of an expanded command: where each definition uses the next
// one twice, every level doubles the words.
const maxWords = 10_000

// expand replaces definitions, fills every $, and cuts the line into commands. With an
// error it returns no commands.
func expand(line string, definitions map[string]string) (commands [][]string, err error) {
	typed, err := split(line)
	if err != nil {
		return nil, err
	}
	var all []word
	waiting := 0 // $ that have no word yet
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

// cut splits the words at the separators and drops empty segments.
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

// substitute replaces names by their definitions, the leftmost first, until none is left.
// It marks the words after a segment's first one as given.
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
			return nil, unreadable("too many substitutions (recursive definition?)")
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

// interpolate fills the $ of the line so far, in order, with the last given words of its
// last command, which has last words. If that command has fewer given words than there
// are $, it fills none and returns how many wait for a later command.
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

// isDefine reports whether the line begins with define. The rest is then one definition:
// it is not expanded, and may contain separators.
func isDefine(line string) bool {
	first, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return first == "define"
}
