import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ScriptError } from './errors.ts'
import { documentLimits, startMeter } from './meter.ts'
import { compileScript } from './script.ts'

const limits = ['PainlessError', 'OutOfMemoryError', 'StackOverflowError']

/** Runs a script with the limits of production. Returns the name of the exception and the duration. */
function attack(source: string): { error: string; milliseconds: number } {
  const start = process.hrtime.bigint()
  let error = 'none'
  try {
    const script = compileScript(source, { variables: [['ctx', 'Map']] })
    startMeter(documentLimits)
    script.run(new Map<unknown, unknown>([['text', 'x'.repeat(1000)]]))
  } catch (thrown) {
    assert.ok(thrown instanceof ScriptError, `${source}: ${(thrown as Error).stack}`)
    error = thrown.javaClass.replace(/^.*\./, '')
  }
  return { error, milliseconds: Number(process.hrtime.bigint() - start) / 1e6 }
}

const endless: Record<string, string> = {
  'an endless loop': 'while (true) { }',
  'a loop without body': 'boolean x = true; for (;x;);',
  'a loop that catches everything': "while (true) { try { throw new Exception('x') } catch (Exception e) { } }",
  'nested loops': 'for (int i = 0; i < 100000; i++) for (int j = 0; j < 100000; j++) { i += 0 }',
  'endless recursion': 'def f() { return f() } f()',
  'mutual recursion': 'def f(int n) { return g(n + 1) } def g(int n) { return f(n + 1) } f(0)',
  'recursion that catches': 'def f() { try { return f() } catch (Exception e) { return f() } } f()',
  'exponential recursion': 'def f(int n) { if (n == 0) { return 0 } f(n - 1); return f(n - 1) } f(40)',
  'optionals without end': 'def g = Optional.of(1); while (true) g = g.map(v -> v + 1)',
  'an endless stream': 'Stream.iterate(1, x -> x + 1).forEach(x -> 1)',
  'an endless stream that is sorted': 'IntStream.iterate(1, x -> x + 1).sorted().findFirst()',
  'an endless generator': 'Stream.generate(() -> 1).collect(Collectors.toList())',
  'a range of all longs': 'LongStream.range(0L, Long.MAX_VALUE).count()',
  'a map that computes itself': "Map m = ['a': 1]; while (true) { m.compute('a', (k, v) -> v + 1) }",
  'powers of long numbers':
    "BigInteger n = new BigInteger('7').pow(700); while (true) n.modPow(n, n.add(BigInteger.ONE))",
  'common divisors of long numbers':
    "BigInteger n = new BigInteger('7').pow(700); BigInteger m = new BigInteger('5').pow(800); while (true) n.gcd(m)",
  'a queue that grows': 'PriorityQueue q = new PriorityQueue(); while (true) q.add(1)',
  'random bytes': 'Random r = new Random(1L); byte[] b = new byte[1000]; while (true) r.nextBytes(b)',
  'an iterator of a growing list': 'List l = [1]; Iterator i = l.iterator(); while (i.hasNext()) l.add(i.next())',
}

const growing: Record<string, string> = {
  'a text that doubles': "String s = 'x'; while (true) s += s",
  'a text from a builder': "StringBuilder b = new StringBuilder('x'); while (true) b.append(b)",
  'a builder of a given length': 'new StringBuilder().setLength(2000000000)',
  'repetition of a text': "'x'.repeat(2000000000)",
  'repetition of a text in steps': "String s = 'x'; while (true) s = s.repeat(10)",
  'replacement that grows': "String s = 'xx'; while (true) s = s.replace('x', s)",
  'replacement by a function': "String s = 'xx'; while (true) { String t = s; s = s.replaceAll(/x/, m -> t) }",
  'bits as a text': 'BitSet b = new BitSet(); b.set(0, 4000000); while (true) b.toString()',
  'a format that grows': "String s = '%900d'; while (true) s = String.format(s, new def[] {1}) + '%900d'",
  'a list that doubles': 'List l = [1]; while (true) l.addAll(l)',
  'a list that grows at the front': 'List l = []; while (true) l.add(0, 1)',
  'a list of lists': 'List l = []; while (true) { l = [l, l, l]; l.toString() }',
  'a list of long texts that is printed':
    "List l = []; String s = 'x'.repeat(100000); for (int i = 0; i < 5000; i++) l.add(s); l.toString()",
  'long texts that are joined':
    "List l = []; String s = 'x'.repeat(100000); for (int i = 0; i < 5000; i++) l.add(s); String.join(',', l)",
  'long texts that are collected':
    "String s = 'x'.repeat(100000); IntStream.range(0, 5000).mapToObj(i -> s).collect(Collectors.joining())",
  'long texts in a joiner':
    "StringJoiner j = new StringJoiner(','); String s = 'x'.repeat(100000); for (int i = 0; i < 5000; i++) j.add(s); j.toString()",
  'a map that grows': 'Map m = [:]; int i = 0; while (true) m.put(i++, i)',
  'a set that grows': 'Set s = new HashSet(); int i = 0; while (true) s.add(i++)',
  'a large array': 'int[] x = new int[Integer.MAX_VALUE - 1]',
  'an array of arrays': 'int[][] x = new int[100000][100000]',
  'many arrays': 'List l = []; while (true) l.add(new long[100000])',
  'copies of a list': 'Collections.nCopies(2000000000, 1)',
  'lambdas without end': 'List l = []; while (true) { int i = l.size(); l.add(Optional.of(1).map(x -> x + i)) }',
  'matchers without end': "while (true) { def p = /(a{1,50}){1,15}b/; p.matcher('aaa').find() }",
  'dates without end': "while (true) ZonedDateTime.parse('2020-01-01T00:00:00Z').plusDays(1L)",
  'exceptions without end': "List l = []; while (true) l.add(new Exception('x'))",
  'JSON without end': "String s = '[1]'; while (true) s = Json.dump([Json.load(s), Json.load(s)])",
}

test('loops, recursion and growth end at a limit that scripts cannot catch', () => {
  for (const [name, source] of Object.entries({ ...endless, ...growing })) {
    const { error, milliseconds } = attack(source)
    assert.ok(limits.includes(error), `${name}: ${error}`)
    assert.ok(milliseconds < 5000, `${name}: ${milliseconds} ms`)
  }
})

const slow: Record<string, string> = {
  'a regular expression with nested repetition': "('a'.repeat(50000) + '!') ==~ /(a*)*b/",
  'a regular expression with many choices': "('ab'.repeat(20000)) ==~ /(a|b|ab)*c/",
  'a large repetition': "'a'.repeat(1000) ==~ /((a{1,100}){1,10}){1,1}/",
  'a power with a huge exponent': 'BigInteger.TEN.pow(2000000000)',
  'a decimal with a huge exponent': "new BigDecimal('1e2000000000')",
  'a decimal with a huge scale': "new BigDecimal('1e99999').setScale(0)",
  'a shift by two billion bits': 'BigInteger.ONE.shiftLeft(2000000000)',
  'a date far away': 'LocalDate.of(2020, 1, 1).plusDays(Long.MAX_VALUE)',
  'an amount of time far away': 'Duration.ofDays(Long.MAX_VALUE)',
  'a long number': "Integer.parseInt('9'.repeat(1000000))",
  'a comparison of shared lists':
    'List a = [1]; List b = [1]; for (int i = 0; i < 60; i++) { a = [a, a]; b = [b, b] } a == b',
  'a hash of shared lists': 'List a = [1]; for (int i = 0; i < 60; i++) a = [a, a]; a.hashCode()',
  'a key of shared lists': 'List a = [1]; for (int i = 0; i < 60; i++) a = [a, a]; [a: 1].size()',
  'a list that holds itself, as a key': 'List l = []; l.add(l); Map m = [:]; m.put(l, 1)',
  'a list that holds itself, compared': 'List l = []; l.add(l); List k = []; k.add(k); l == k',
  'a map that holds itself, printed': "Map m = [:]; m.put('m', m); m.toString()",
  'a comparator without order': 'List l = []; for (int i = 0; i < 20000; i++) l.add(i); l.sort((a, b) -> 1); l.size()',
  'sorting again and again':
    'List l = []; for (int i = 0; i < 20000; i++) l.add(i); while (true) l.sort((a, b) -> b - a)',
  'searching again and again': 'List l = []; for (int i = 0; i < 20000; i++) l.add(i); while (true) l.contains(-1)',
  'removing from the front of a long list':
    'List l = []; for (int i = 0; i < 100000; i++) l.add(i); while (l.size() > 0) l.remove(0)',
  'cutting a long text': "String s = 'x'.repeat(4000000); while (true) s.substring(1).indexOf('y')",
  'reversing a long text': "StringBuilder b = new StringBuilder('x'.repeat(2000000)); while (true) b.reverse()",
  'changing the case of a long text': "String s = 'x'.repeat(2000000); while (true) s.toUpperCase()",
  'comparing long texts': "String s = 'x'.repeat(3000000); String t = 'x'.repeat(3000000); while (true) s.compareTo(t)",
  'splitting a long text': "String s = ','.repeat(500000); while (true) s.splitOnToken(',')",
}

test('work that grows with its operands never takes much longer than the time limit', () => {
  for (const [name, source] of Object.entries(slow)) {
    const { milliseconds } = attack(source)
    assert.ok(milliseconds < 5000, `${name}: ${milliseconds} ms`)
  }
})

const escapes = [
  'ctx.getClass()',
  'ctx.constructor.constructor',
  "ctx['constructor']('return process')()",
  'ctx.__proto__.polluted = 1',
  "''.getClass().forName('java.lang.Runtime')",
  'Runtime.getRuntime()',
  'System.exit(1)',
  "System.getProperty('user.dir')",
  "new java.io.File('/etc/passwd')",
  'java.lang.Thread.sleep(1000L)',
  'Class.forName("x")',
  'process.exit(1)',
  'globalThis',
  'require("fs")',
  'import("fs")',
  'this.constructor',
  "eval('1')",
  'Map m = [:]; m.get("x").call()',
  '[].map',
  "'x'.valueOf()",
  "def f = 'toString'; ''[f]",
  'List l = [1]; l.length = 100',
  'Function f = null; f.constructor',
  'def o = Optional.of(1); o.value',
  'def m = /a/.matcher("a"); m.matcher',
  'def d = LocalDate.of(2020, 1, 1); d.day = 5',
  "def e = new Exception('x'); e.stack",
  'def s = Stream.of(1); s.items',
  'def b = new StringBuilder(); b.value = 1',
]

test('a script cannot reach an object of the host by any name', () => {
  const before = Object.keys(Object.prototype).length
  for (const source of escapes) assert.notEqual(attack(`return ${source}`).error, 'none', source)
  assert.equal(attack("ctx.__proto__ = ['polluted': 1]; ctx.constructor = 1; ctx['hasOwnProperty'] = 1").error, 'none')
  assert.equal(({} as { polluted?: number }).polluted, undefined)
  assert.equal(Object.keys(Object.prototype).length, before)
})

test('sources that are too long or too deeply nested are rejected quickly, and a long sum ends quickly', () => {
  const deep = [
    `return ${'('.repeat(5000)}1${')'.repeat(5000)}`,
    `return ${'['.repeat(5000)}${']'.repeat(5000)}`,
    `return ${'-'.repeat(5000)}1`,
    `return ${'!'.repeat(5000)}true`,
    `${'if (ctx.a) {'.repeat(1000)}${'}'.repeat(1000)}`,
    `return ${'ctx.a ? 1 : '.repeat(3000)}2`,
    `return 1${' + 1'.repeat(20_000)}`,
    `ctx.a = ${'(x -> '.repeat(2000)}1${')'.repeat(2000)}`,
    'x'.repeat(70_000),
    `return '${'\\'.repeat(30_001)}`,
    `return /${'('.repeat(3000)}/`,
    `/*${'*'.repeat(60_000)}`,
  ]
  for (const source of deep) {
    const { error, milliseconds } = attack(source)
    assert.ok(milliseconds < 3000, `${source.slice(0, 40)}: ${milliseconds} ms`)
    assert.ok(error !== 'none' || source.includes(' + 1'), source.slice(0, 40))
  }
})
