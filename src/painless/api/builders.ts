import { defineClass } from '../define.ts'
import { allocateText } from '../meter.ts'
import { concat } from '../operators.ts'
import { joinTexts, textOf } from '../text.ts'
import { isJavaArray, type JavaArray, type JavaObject } from '../values.ts'
import { charsText, sequenceText, stringIndex, substring } from './strings.ts'

/** A StringBuilder. Each change replaces its text. */
export interface Builder extends JavaObject {
  value: string
  text: () => string
  compareTo: (other: unknown) => number
}

function newBuilder(javaClass: string, value: string): Builder {
  const builder: Builder = {
    javaClass,
    value,
    text: () => builder.value,
    compareTo: (other) => (builder.value < textOf(other) ? -1 : builder.value > textOf(other) ? 1 : 0),
  }
  return builder
}

const append = (self: Builder, text: string): Builder => {
  self.value = concat(self.value, text)
  return self
}
const printed = (value: unknown): string =>
  isJavaArray(value) && value.elementType === 'char' ? charsText(value) : textOf(value)

function replaceRange(self: Builder, start: number, end: number, text: string): Builder {
  if (start < 0 || start > self.value.length || start > end)
    throw stringIndex(`start ${start}, end ${end}, length ${self.value.length}`)
  self.value = concat(concat(self.value.slice(0, start), text), self.value.slice(Math.min(end, self.value.length)))
  return self
}

for (const name of ['StringBuilder', 'StringBuffer'])
  defineClass(`java.lang.${name}`, {
    supers: ['java.lang.CharSequence', 'java.lang.Comparable'],
    constructors: {
      '()': () => newBuilder(`java.lang.${name}`, ''),
      '(def)': (from: unknown) => newBuilder(`java.lang.${name}`, typeof from === 'number' ? '' : sequenceText(from)),
    },
    methods: {
      [`${name} append(def)`]: (self: Builder, value: unknown) => append(self, printed(value)),
      [`${name} append(CharSequence,int,int)`]: (self: Builder, value: unknown, start: number, end: number) =>
        append(self, substring(sequenceText(value), start, end)),
      [`${name} appendCodePoint(int)`]: (self: Builder, code: number) => append(self, String.fromCodePoint(code)),
      'int capacity()': (self: Builder) => Math.max(16, self.value.length),
      'int codePointAt(int)': (self: Builder, index: number) => self.value.codePointAt(index) ?? 0,
      [`${name} delete(int,int)`]: (self: Builder, start: number, end: number) => replaceRange(self, start, end, ''),
      [`${name} deleteCharAt(int)`]: (self: Builder, index: number) => {
        if (index < 0 || index >= self.value.length) throw stringIndex(`index ${index},length ${self.value.length}`)
        return replaceRange(self, index, index + 1, '')
      },
      'int indexOf(String)': (self: Builder, text: string) => self.value.indexOf(text),
      'int indexOf(String,int)': (self: Builder, text: string, from: number) => self.value.indexOf(text, from),
      [`${name} insert(int,def)`]: (self: Builder, at: number, value: unknown) =>
        replaceRange(self, at, at, printed(value)),
      'int lastIndexOf(String)': (self: Builder, text: string) => self.value.lastIndexOf(text),
      'int lastIndexOf(String,int)': (self: Builder, text: string, from: number) => self.value.lastIndexOf(text, from),
      'int length()': (self: Builder) => self.value.length,
      [`${name} replace(int,int,String)`]: replaceRange,
      [`${name} reverse()`]: (self: Builder) => {
        self.value = [...self.value].reverse().join('')
        return self
      },
      'void setCharAt(int,char)': (self: Builder, index: number, code: number) => {
        if (index < 0 || index >= self.value.length) throw stringIndex(`index ${index},length ${self.value.length}`)
        replaceRange(self, index, index + 1, String.fromCharCode(code))
      },
      'void setLength(int)': (self: Builder, length: number) => {
        if (length < 0) throw stringIndex(`String index out of range: ${length}`)
        self.value =
          length <= self.value.length
            ? self.value.slice(0, length)
            : concat(self.value, padding(length - self.value.length))
      },
      'String substring(int)': (self: Builder, start: number) => substring(self.value, start, self.value.length),
      'String substring(int,int)': (self: Builder, start: number, end: number) => substring(self.value, start, end),
      'String toString()': (self: Builder) => self.value,
    },
  })

function padding(length: number): string {
  allocateText(length)
  return '\u0000'.repeat(length)
}

interface Joiner extends JavaObject {
  parts: string[]
  delimiter: string
  prefix: string
  suffix: string
  text: () => string
}

function newJoiner(delimiter: unknown, prefix: unknown, suffix: unknown): Joiner {
  const joiner: Joiner = {
    javaClass: 'java.util.StringJoiner',
    parts: [],
    delimiter: sequenceText(delimiter),
    prefix: sequenceText(prefix),
    suffix: sequenceText(suffix),
    text: () => joiner.prefix + joinTexts(joiner.parts, joiner.delimiter) + joiner.suffix,
  }
  return joiner
}

defineClass('java.util.StringJoiner', {
  constructors: {
    '(CharSequence)': (delimiter: unknown) => newJoiner(delimiter, '', ''),
    '(CharSequence,CharSequence,CharSequence)': newJoiner,
  },
  methods: {
    'StringJoiner add(CharSequence)': (self: Joiner, part: unknown) => {
      allocateText(self.delimiter.length + 8)
      self.parts.push(textOf(part))
      return self
    },
    'int length()': (self: Joiner) => self.text().length,
    'StringJoiner setEmptyValue(CharSequence)': (self: Joiner, value: unknown) => {
      const text = self.text
      self.text = () => (self.parts.length === 0 ? sequenceText(value) : text())
      return self
    },
  },
})

interface Tokenizer extends JavaObject {
  tokens: string[]
  next: number
}

defineClass('java.util.StringTokenizer', {
  constructors: {
    '(String)': (text: string) => tokenizer(text, ' \t\n\r\f'),
    '(String,String)': (text: string, delimiters: string) => tokenizer(text, delimiters),
  },
  methods: {
    'int countTokens()': (self: Tokenizer) => self.tokens.length - self.next,
    'boolean hasMoreTokens()': (self: Tokenizer) => self.next < self.tokens.length,
    'String nextToken()': (self: Tokenizer) => self.tokens[self.next++] ?? null,
  },
})

function tokenizer(text: string, delimiters: string): Tokenizer {
  const tokens: string[] = []
  let current = ''
  for (const char of text)
    if (!delimiters.includes(char)) current += char
    else if (current !== '') {
      tokens.push(current)
      current = ''
    }
  if (current !== '') tokens.push(current)
  return { javaClass: 'java.util.StringTokenizer', tokens, next: 0 }
}

interface Codec extends JavaObject {
  url: boolean
}
const bytesOf = (array: JavaArray): Buffer => Buffer.from(array.items as number[])
const signed = (bytes: Buffer): JavaArray => ({
  elementType: 'byte',
  items: [...bytes].map((byte) => (byte << 24) >> 24),
})
const encoding = (self: Codec): BufferEncoding => (self.url ? 'base64url' : 'base64')

defineClass('java.util.Base64', {
  methods: {
    'static Base64.Encoder getEncoder()': (): Codec => ({ javaClass: 'java.util.Base64.Encoder', url: false }),
    'static Base64.Encoder getUrlEncoder()': (): Codec => ({ javaClass: 'java.util.Base64.Encoder', url: true }),
    'static Base64.Decoder getDecoder()': (): Codec => ({ javaClass: 'java.util.Base64.Decoder', url: false }),
    'static Base64.Decoder getUrlDecoder()': (): Codec => ({ javaClass: 'java.util.Base64.Decoder', url: true }),
  },
})
defineClass('java.util.Base64.Encoder', {
  methods: {
    'String encodeToString(byte[])': (self: Codec, bytes: JavaArray) =>
      concat('', bytesOf(bytes).toString(encoding(self))),
  },
})
defineClass('java.util.Base64.Decoder', {
  methods: { 'byte[] decode(String)': (self: Codec, text: string) => signed(Buffer.from(text, encoding(self))) },
})
