package value

// Faults is what is wrong with flags. A command reports all faults at once.
type Faults []error

// If adds a fault if wrong. format and args are those of fmt.Sprintf.
func (f *Faults) If(wrong bool, format string, args ...any) {
	if wrong {
		*f = append(*f, Faultf(format, args...))
	}
}

// Add adds the errors that are not nil.
func (f *Faults) Add(errs ...error) {
	for _, err := range errs {
		if err != nil {
			*f = append(*f, err)
		}
	}
}

// Range adds a fault if the flag's number n is not from least to most.
func (f *Faults) Range(flag string, n, least, most int) {
	f.If(n < least || n > most, "--%s is %d; give a number from %d to %d", flag, n, least, most)
}
