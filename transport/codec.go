package transport

import (
	"errors"
	"fmt"
	"reflect"
)

// The errors of payloads. The returned error wraps one of them and has more text: test
// for them with errors.Is.
var (
	// ErrUnsupportedPayload reports a type or a value that cannot cross to another
	// process. The text names the Go type and the path to the part of it that cannot
	// cross.
	ErrUnsupportedPayload = errors.New("transport: unsupported payload")

	// ErrBadTag reports a payload whose tag is unknown, or is not the tag of the type
	// that it is decoded into.
	ErrBadTag = errors.New("transport: bad payload tag")

	// ErrBadPayload reports bytes that are not a payload of their tag.
	ErrBadPayload = errors.New("transport: bad payload")
)

// Codec encodes the values of types that have no encoding of their own, and decodes
// them. Both sides of a Link must use codecs of the same name. A Codec must be safe for
// concurrent use.
type Codec interface {
	// Name returns the name of the encoding, such as "json".
	Name() string

	// Append appends the bytes of v to dst and returns the result. v is the value that
	// an interface held, or a pointer to the value.
	Append(dst []byte, v any) ([]byte, error)

	// Decode reads src into *v; v is a pointer. It must return an error for bytes that
	// are no value in its encoding, and must not retain src.
	Decode(src []byte, v any) error
}

// TypeChecker is a [Codec] that can decide from a type whether its values are the same
// after encoding and decoding.
type TypeChecker interface {
	// CheckType returns an error that names the part of t that cannot cross, and its
	// path.
	CheckType(t reflect.Type) error
}

// checkType asks the codec about t. For a codec that is no TypeChecker it refuses the
// types that no codec can encode.
func checkType(c Codec, t reflect.Type) error {
	if k, ok := c.(TypeChecker); ok {
		return k.CheckType(t)
	}
	if why := local(t); why != "" {
		return (&refusal{typ: t, why: why}).of(t)
	}
	return nil
}

// encode appends the bytes that the codec makes of v, a value or a pointer to one.
func encode(c Codec, dst []byte, v any) ([]byte, Tag, error) {
	b, err := c.Append(dst, v)
	if err != nil {
		return dst, TagInvalid, unsupported(c.Name(), v, err)
	}
	return b, TagCoded, nil
}

// unsupported returns the error for a value that a codec or a method has refused.
// encoder names it.
func unsupported(encoder string, v any, err error) error {
	if errors.Is(err, ErrUnsupportedPayload) {
		return err
	}
	return fmt.Errorf("%w: %T: %s: %w", ErrUnsupportedPayload, v, encoder, err)
}

// contain runs decode, which is code from outside this package and reads bytes that the
// peer wrote. A panic in it means that the bytes were bad. decoder names the code.
func contain(decoder string, decode func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = foreignError(decoder, fmt.Sprintf("panic: %v", p))
		}
	}()
	if err := decode(); err != nil {
		return foreignError(decoder, err.Error())
	}
	return nil
}

// maxForeignText is the length in bytes to which the text of an error from outside this
// package is cut. An error of encoding/json may hold all that the peer wrote.
const maxForeignText = 200

// foreignError returns the error for bytes that decoder refused with text.
func foreignError(decoder, text string) error {
	if len(text) > maxForeignText {
		text = text[:maxForeignText] + "..."
	}
	return fmt.Errorf("%w: %s: %q", ErrBadPayload, decoder, text)
}
