package amqp

// place puts v into the first free place and returns its index.
func place[T any](places *[]*T, v *T) int {
	for i, p := range *places {
		if p == nil {
			(*places)[i] = v
			return i
		}
	}
	*places = append(*places, v)
	return len(*places) - 1
}

// placeAt puts v at the broker's index, which is below a limit.
func placeAt[T any](places *[]*T, i int, v *T) {
	for len(*places) <= i {
		*places = append(*places, nil)
	}
	(*places)[i] = v
}
