package child

import "bytes"

// splitter divides a stream into lines. It holds one line in memory, of which it takes a part away when the part has most
// bytes.
type splitter struct {
	most int
	// to is called with each line without its end, or with a part of one. ends reports whether the end of the line
	// follows. The text is valid until to returns.
	to   func(text []byte, ends bool)
	part []byte // of the line that has not ended
}

// write adds bytes to the stream.
func (s *splitter) write(b []byte) {
	for len(b) > 0 {
		text, rest, ends := bytes.Cut(b, []byte{'\n'})
		room := s.most - len(s.part)
		if len(text) > room { // only now, because the end of the line may follow directly
			s.part = append(s.part, text[:room]...)
			s.pass(false)
			b = b[room:]
			continue
		}
		s.part = append(s.part, text...)
		if ends {
			s.pass(true)
		}
		b = rest
	}
}

// flush passes the line that has not ended.
func (s *splitter) flush() {
	if len(s.part) > 0 {
		s.pass(false)
	}
}

// pass passes the text that it holds.
func (s *splitter) pass(ends bool) {
	s.to(s.part, ends)
	s.part = s.part[:0]
}
