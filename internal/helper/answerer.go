package helper

// NumberBytes is the size of a message with a number: see [Answerer].
const NumberBytes = 8
