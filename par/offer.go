package par

// offer hands the newest fork of f to another worker at once, if it can.
func offer(f any) {
	if o, ok := f.(interface{ Offer() }); ok {
		o.Offer()
	}
}
