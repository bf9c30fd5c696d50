package main

import (
	"math/big"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// FORMAT 1.1: JSON in which no field occurs twice and every number is an integer. encoding/json is not used, because it
// keeps the last of two fields of one name and mends text that is not UTF-8.
//
// A value is nil, bool, int64, *big.Int (where int64 is too small), string, []any or map[string]any.

const (
	maxDepth  = 900
	maxValues = 40_000_000
	maxDigits = 4000
)

type jsonText struct {
	text   []byte
	at     int
	depth  int
	values int
}

// parseJSON reads one JSON value and nothing after it; anything else is unusable.
func parseJSON(text []byte) any {
	if !utf8.Valid(text) {
		giveUp("the text is not UTF-8")
	}
	p := &jsonText{text: text}
	value := p.value()
	p.space()
	if p.at != len(text) {
		p.wrong("there is text after the end")
	}
	return value
}

func (p *jsonText) wrong(why string) {
	giveUp("no JSON text that a certificate may be: %s (byte %d)", why, p.at)
}

func (p *jsonText) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

// next skips space and returns the next byte without taking it.
func (p *jsonText) next() byte {
	p.space()
	if p.at >= len(p.text) {
		p.wrong("the text ends too early")
	}
	return p.text[p.at]
}

func (p *jsonText) value() any {
	p.values++
	if p.values > maxValues {
		giveUp("too large: more than %d values", maxValues)
	}
	switch c := p.next(); {
	case c == '{':
		return p.object()
	case c == '[':
		return p.list()
	case c == '"':
		return p.str()
	case c == '-' || c >= '0' && c <= '9':
		return p.number()
	}
	for word, value := range map[string]any{"true": true, "false": false, "null": nil} {
		if len(p.text)-p.at >= len(word) && string(p.text[p.at:p.at+len(word)]) == word {
			p.at += len(word)
			return value
		}
	}
	p.wrong("no value")
	return nil
}

func (p *jsonText) enter() {
	p.at++
	p.depth++
	if p.depth > maxDepth {
		giveUp("too large: nested deeper than %d", maxDepth)
	}
}

func (p *jsonText) leave() {
	p.at++
	p.depth--
}

func (p *jsonText) object() any {
	p.enter()
	fields := map[string]any{}
	if p.next() == '}' {
		p.leave()
		return fields
	}
	for {
		if p.next() != '"' {
			p.wrong("a field without a name")
		}
		name := p.str()
		if _, twice := fields[name]; twice {
			p.wrong("the field " + strconv.Quote(name) + " occurs twice")
		}
		if p.next() != ':' {
			p.wrong("a field without a colon")
		}
		p.at++
		fields[name] = p.value()
		if !p.more('}') {
			return fields
		}
	}
}

func (p *jsonText) list() any {
	p.enter()
	items := []any{}
	if p.next() == ']' {
		p.leave()
		return items
	}
	for {
		items = append(items, p.value())
		if !p.more(']') {
			return items
		}
	}
}

// more takes the comma after an item, or the closing bracket.
func (p *jsonText) more(closing byte) bool {
	switch p.next() {
	case ',':
		p.at++
		return true
	case closing:
		p.leave()
		return false
	}
	p.wrong("neither a comma nor an end")
	return false
}

func (p *jsonText) number() any {
	begin := p.at
	if p.text[p.at] == '-' {
		p.at++
	}
	digits := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	count := p.at - digits
	if count == 0 || count > 1 && p.text[digits] == '0' {
		p.wrong("no number")
	}
	if count > maxDigits {
		giveUp("too large: a number of %d digits", count)
	}
	if p.at < len(p.text) && (p.text[p.at] == '.' || p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		p.wrong("a number with a point or an exponent")
	}
	text := string(p.text[begin:p.at])
	if small, err := strconv.ParseInt(text, 10, 64); err == nil {
		return small
	}
	large, _ := new(big.Int).SetString(text, 10)
	return large
}

func (p *jsonText) str() string {
	p.at++
	begin := p.at
	for p.at < len(p.text) && p.text[p.at] != '"' && p.text[p.at] != '\\' && p.text[p.at] >= 0x20 {
		p.at++
	}
	out := append([]byte(nil), p.text[begin:p.at]...)
	for {
		if p.at >= len(p.text) {
			p.wrong("a text without an end")
		}
		c := p.text[p.at]
		p.at++
		switch {
		case c == '"':
			return string(out)
		case c == '\\':
			out = p.escape(out)
		case c < 0x20:
			p.wrong("a control character in a text")
		default:
			out = append(out, c)
		}
	}
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *jsonText) escape(out []byte) []byte {
	if p.at >= len(p.text) {
		p.wrong("a text without an end")
	}
	c := p.text[p.at]
	p.at++
	if plain, ok := escapes[c]; ok {
		return append(out, plain)
	}
	if c != 'u' {
		p.wrong("no such escape")
	}
	one := p.hex4()
	if utf16.IsSurrogate(one) && one < 0xDC00 && p.at+1 < len(p.text) && p.text[p.at] == '\\' && p.text[p.at+1] == 'u' {
		back := p.at
		p.at += 2
		if both := utf16.DecodeRune(one, p.hex4()); both != utf8.RuneError {
			return utf8.AppendRune(out, both)
		}
		p.at = back
	}
	if utf16.IsSurrogate(one) { // half a pair alone: three bytes, so that two different ones stay different
		return append(out, 0xE0|byte(one>>12), 0x80|byte(one>>6)&0xBF, 0x80|byte(one)&0xBF)
	}
	return utf8.AppendRune(out, one)
}

func (p *jsonText) hex4() rune {
	if p.at+4 > len(p.text) {
		p.wrong("a text without an end")
	}
	for _, c := range p.text[p.at : p.at+4] {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
			p.wrong("no such escape")
		}
	}
	code, _ := strconv.ParseUint(string(p.text[p.at:p.at+4]), 16, 32)
	p.at += 4
	return rune(code)
}
