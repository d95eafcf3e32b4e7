package transport

import (
	"errors"
	"fmt"
	"reflect"
)

// The errors of payloads. Test for them with errors.Is: what is returned says
// more.
var (
	// ErrUnsupportedPayload reports a type or a value that cannot cross to another
	// process. The text names the Go type and the path to what is wrong in it.
	ErrUnsupportedPayload = errors.New("transport: unsupported payload")

	// ErrBadTag reports a payload whose tag is unknown, or is not that of the
	// type that it is decoded into.
	ErrBadTag = errors.New("transport: bad payload tag")

	// ErrBadPayload reports bytes that are no payload of their tag.
	ErrBadPayload = errors.New("transport: bad payload")
)

// Codec turns values into bytes and back, for the types that have no form of
// their own. Both sides of a Link must use codecs of the same name. A codec must be
// safe for concurrent use.
type Codec interface {
	// Name names the form of the bytes, as in "json".
	Name() string

	// Append appends the bytes of v to dst and returns the result. v is the value
	// that an interface held, or a pointer to the value.
	Append(dst []byte, v any) ([]byte, error)

	// Decode reads src into *v, which v points at. It must return an error for
	// bytes that are not its own, and must not retain src.
	Decode(src []byte, v any) error
}

// A TypeChecker is a [Codec] that can tell from a type whether its values survive
// the way there and back.
type TypeChecker interface {
	// CheckType returns an error that says what in t cannot cross, and where.
	CheckType(t reflect.Type) error
}

// checkType asks the codec about t. Of a codec that does not tell, it knows only
// what no codec can do.
func checkType(c Codec, t reflect.Type) error {
	if k, ok := c.(TypeChecker); ok {
		return k.CheckType(t)
	}
	if why := local(t); why != "" {
		return (&refusal{typ: t, why: why}).of(t)
	}
	return nil
}

// encode appends what the codec makes of v, a value or a pointer to one.
func encode(c Codec, dst []byte, v any) ([]byte, Tag, error) {
	b, err := c.Append(dst, v)
	if err != nil {
		return dst, TagInvalid, unsupported(c.Name(), v, err)
	}
	return b, TagCoded, nil
}

// unsupported returns the error for a value that somebody else's code refused.
func unsupported(encoder string, v any, err error) error {
	if errors.Is(err, ErrUnsupportedPayload) {
		return err
	}
	return fmt.Errorf("%w: %T: %s: %w", ErrUnsupportedPayload, v, encoder, err)
}

// contain runs decode, which is code of somebody else that reads bytes of yet
// somebody else: a panic in it says that they were bad.
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

// maxForeignText is how much is kept of an error of others, in bytes: that of
// encoding/json may hold all that the peer wrote.
const maxForeignText = 200

// foreign returns the error for bytes that who did not take.
func foreignError(decoder, text string) error {
	if len(text) > maxForeignText {
		text = text[:maxForeignText] + "..."
	}
	return fmt.Errorf("%w: %s: %q", ErrBadPayload, decoder, text)
}
