package metrics

import (
	"strconv"
	"strings"
)

// Plain returns labels as Prometheus accepts them: names of letters, digits and _ that do not begin with
// a digit or with two _, none twice. An empty value is no label. A name that occurs twice, because names
// differ only in what no name may have, gets a number.
func Plain(labels []Label) (list []Label) {
	used := map[string]bool{}
	for _, l := range labels {
		if l.Value == "" {
			continue
		}
		name := plainName(l.Name)
		for n := 2; used[name]; n++ {
			name = plainName(l.Name) + "_" + strconv.Itoa(n)
		}
		used[name] = true
		list = append(list, Label{name, l.Value})
	}
	return list
}

func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, name)
	if name == "" || name[0] >= '0' && name[0] <= '9' || strings.HasPrefix(name, "__") {
		name = "x" + name
	}
	return name
}
