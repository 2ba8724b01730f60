package core

// CommandLine is the command line without secrets. load is the command after --, with takt before it, as its report has
// it: secrets are hidden there. nil: not known.
func (e Env) CommandLine(load []string) []string {
	words := []string{"takt"}
	for _, word := range e.Args {
		if word == "--" {
			return append(append(words, word), load[min(1, len(load)):]...)
		}
		words = append(words, HideCredentials(word))
	}
	return words
}
