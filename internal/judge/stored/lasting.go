package stored

// The labels of runs that takt never removes from the store by itself, whatever their values.
const (
	LabelBaseline = "baseline"
	LabelKeep     = "keep"
)

// LastingLabel is the label that protects a run from the limit of the store and from takt store
// prune; "": none does.
func LastingLabel(labels map[string]string) string {
	for _, name := range []string{LabelBaseline, LabelKeep} {
		if _, ok := labels[name]; ok {
			return name
		}
	}
	return ""
}
